#include "profiler/trace/nvtx.h"

#include <nvtx3/nvToolsExt.h>

#include <initializer_list>

namespace ulpscope::profiler::nvtx {
namespace {

/// Null without a tool: NVTX's functions are empty then.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = [] {
    const nvtxDomainHandle_t made = nvtxDomainCreateA(domain_name);
    if (made != nullptr)
      for (const Category c : {Category::run, Category::phase, Category::step, Category::pass, Category::node})
        nvtxDomainNameCategoryA(made, static_cast<std::uint32_t>(c), name(c));
    return made;
  }();
  return handle;
}

nvtxEventAttributes_t attributes(Category category, Name name) {
  nvtxEventAttributes_t a = {};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.category = static_cast<std::uint32_t>(category);
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = static_cast<nvtxStringHandle_t>(name);
  return a;
}

}  // namespace

bool built_in() { return true; }
bool attached() { return domain() != nullptr; }

Name registered(const char* name) { return attached() ? nvtxDomainRegisterStringA(domain(), name) : nullptr; }

void push(Category category, Name name) {
  const nvtxEventAttributes_t a = attributes(category, name);
  nvtxDomainRangePushEx(domain(), &a);
}
void push(Category category, Name name, std::int64_t payload) {
  nvtxEventAttributes_t a = attributes(category, name);
  a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  a.payload.llValue = payload;
  nvtxDomainRangePushEx(domain(), &a);
}
void pop() { nvtxDomainRangePop(domain()); }

}  // namespace ulpscope::profiler::nvtx
