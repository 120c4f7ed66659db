// The operator families. To add an operator: a file like softmax.cpp, a line here, a line in graph/operator.cpp.
#pragma once

namespace ulpscope::engine {

class OperatorTable;

void add_activations(OperatorTable& table);
void add_attention(OperatorTable& table);
void add_batch_norm(OperatorTable& table);
void add_cast(OperatorTable& table);
void add_convolutions(OperatorTable& table);
void add_dropout(OperatorTable& table);
void add_elementwise(OperatorTable& table);
void add_embedding(OperatorTable& table);
void add_layer_norm(OperatorTable& table);
void add_layout(OperatorTable& table);
void add_losses(OperatorTable& table);
void add_persistent(OperatorTable& table);
void add_masks(OperatorTable& table);
void add_pooling(OperatorTable& table);
void add_products(OperatorTable& table);
void add_reductions(OperatorTable& table);
void add_rms_norm(OperatorTable& table);
void add_rotary(OperatorTable& table);
void add_slices(OperatorTable& table);
void add_softmax(OperatorTable& table);
void add_update(OperatorTable& table);

}  // namespace ulpscope::engine
