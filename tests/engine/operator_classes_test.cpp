// Every operator with its class under both autocast policies, one by one (NUMERICS 3.1). An operator that is not here fails.
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/precision/policy.h"

namespace ulpscope::engine {
namespace {

constexpr CastClass lower = CastClass::lower, fp32 = CastClass::fp32, comes = CastClass::as_it_comes;

struct Classes {
  CastClass cuda, cpu;
};

const std::map<std::string, Classes> table{
    // The lower lists: products.
    {"linear", {lower, lower}},
    {"matmul", {lower, lower}},
    {"conv1d", {lower, lower}},
    {"conv2d", {lower, lower}},
    {"attention", {lower, lower}},             // scaled_dot_product_attention
    // The fp32 lists. PyTorch's CPU autocast holds losses alone.
    {"cross_entropy", {fp32, fp32}},           // cross_entropy_loss; on CUDA log_softmax and nll_loss
    {"mse_loss", {fp32, fp32}},
    {"l1_loss", {fp32, fp32}},
    {"bce_with_logits", {fp32, fp32}},         // binary_cross_entropy_with_logits
    {"exp", {fp32, comes}},
    {"log", {fp32, comes}},
    {"layer_norm", {fp32, comes}},
    {"softmax", {fp32, comes}},
    {"sum", {fp32, comes}},
    {"sum_to", {fp32, comes}},                 // sum
    {"sum_channels", {fp32, comes}},           // sum
    {"masked_mean", {fp32, comes}},            // a masked sum over positions, divided
    // Unlisted: as the inputs come. batch_norm, relu, add, pooling, dropout and embedding are named so in NUMERICS 3.1.
    {"batch_norm", {comes, comes}},
    {"rms_norm", {comes, comes}},
    {"relu", {comes, comes}},
    {"clamp", {comes, comes}},
    {"gelu", {comes, comes}},
    {"gelu_tanh", {comes, comes}},
    {"silu", {comes, comes}},
    {"tanh", {comes, comes}},
    {"sigmoid", {comes, comes}},
    {"sqrt", {comes, comes}},
    {"add", {comes, comes}},
    {"sub", {comes, comes}},
    {"mul", {comes, comes}},
    {"div", {comes, comes}},
    {"scale", {comes, comes}},                 // mul
    {"mean", {comes, comes}},                  // sum is listed, mean is not
    {"expand", {comes, comes}},
    {"max_pool1d", {comes, comes}},
    {"max_pool2d", {comes, comes}},
    {"avg_pool1d", {comes, comes}},
    {"avg_pool2d", {comes, comes}},
    {"dropout", {comes, comes}},
    {"embedding", {comes, comes}},
    {"rotary_table", {comes, comes}},          // cos and sin
    {"rotary", {comes, comes}},                // mul and add
    {"causal_mask", {comes, comes}},           // masked_fill
    {"masked_fill", {comes, comes}},
    {"where", {comes, comes}},
    {"eq", {comes, comes}},
    {"ne", {comes, comes}},
    {"reshape", {comes, comes}},
    {"flatten", {comes, comes}},
    {"detach", {comes, comes}},
    {"select", {comes, comes}},
    {"split", {comes, comes}},
    {"cat", {comes, comes}},
    {"split_heads", {comes, comes}},
    {"join_heads", {comes, comes}},
    {"cast", {comes, comes}},
    // Added after autocast: backward passes, loss scale, running statistics, the update.
    {"attention_backward", {comes, comes}},
    {"avg_pool1d_backward", {comes, comes}},
    {"avg_pool2d_backward", {comes, comes}},
    {"batch_norm_backward", {comes, comes}},
    {"bce_with_logits_backward", {comes, comes}},
    {"conv1d_backward_input", {comes, comes}},
    {"conv1d_backward_weight", {comes, comes}},
    {"conv2d_backward_input", {comes, comes}},
    {"conv2d_backward_weight", {comes, comes}},
    {"cross_entropy_backward", {comes, comes}},
    {"embedding_backward", {comes, comes}},
    {"exp_backward", {comes, comes}},
    {"gelu_backward", {comes, comes}},
    {"gelu_tanh_backward", {comes, comes}},
    {"l1_loss_backward", {comes, comes}},
    {"layer_norm_backward", {comes, comes}},
    {"layer_norm_backward_weights", {comes, comes}},
    {"masked_mean_backward", {comes, comes}},
    {"max_pool1d_backward", {comes, comes}},
    {"max_pool2d_backward", {comes, comes}},
    {"mse_loss_backward", {comes, comes}},
    {"clamp_backward", {comes, comes}},
    {"relu_backward", {comes, comes}},
    {"rms_norm_backward", {comes, comes}},
    {"rms_norm_backward_weights", {comes, comes}},
    {"sigmoid_backward", {comes, comes}},
    {"silu_backward", {comes, comes}},
    {"softmax_backward", {comes, comes}},
    {"sqrt_backward", {comes, comes}},
    {"tanh_backward", {comes, comes}},
    {"scale_loss", {comes, comes}},
    {"ema", {comes, comes}},
    {"commit_buffer", {comes, comes}},
    {"accumulate", {comes, comes}},
    {"unscale_check", {comes, comes}},
    {"global_norm", {comes, comes}},
    {"sgd", {comes, comes}},
    {"adamw", {comes, comes}},
};

TEST(OperatorClasses, AreThoseOfPyTorchOneByOne) {
  const Policy &cuda = find_policy("torch_cuda"), &cpu = find_policy("torch_cpu");
  for (const std::string& operation : operators().names()) {
    const auto row = table.find(operation);
    ASSERT_NE(row, table.end()) << "operator '" << operation << "' has no row here: look its PyTorch namesake up in NUMERICS 3.1";
    const std::string& namesake = operators().find(operation).autocast;
    EXPECT_STREQ(name(cuda.class_of(namesake)), name(row->second.cuda)) << operation << " under torch_cuda";
    EXPECT_STREQ(name(cpu.class_of(namesake)), name(row->second.cpu)) << operation << " under torch_cpu";
  }
  for (const auto& [operation, classes] : table) EXPECT_NO_THROW(operators().find(operation)) << "a row without an operator";
}

/// What a model can use says which operator of PyTorch it stands for.
TEST(OperatorClasses, EveryOperatorOfAModelHasANamesake) {
  for (const std::string& operation : operators().names()) {
    const Operator& op = operators().find(operation);
    const bool after_autocast = op.internal || operation.find("_backward") != std::string::npos || operation == "cast" ||
                                operation == "scale_loss" || operation == "ema";
    EXPECT_TRUE(after_autocast || !op.autocast.empty()) << operation;
  }
}

/// What is there for models is in the list for their authors.
TEST(OperatorClasses, EveryOperatorOfAModelIsDocumented) {
  std::ifstream file(ULPSCOPE_SOURCE_DIR "/docs/operators.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& operation : operators().names()) {
    const bool made_by_passes = operators().find(operation).internal || operation.find("_backward") != std::string::npos ||
                                operation == "scale_loss" || operation == "sum_to" || operation == "sum_channels";
    EXPECT_TRUE(made_by_passes || text.find('`' + operation + '`') != std::string::npos) << operation << " is not in docs/operators.md";
  }
}

}  // namespace
}  // namespace ulpscope::engine
