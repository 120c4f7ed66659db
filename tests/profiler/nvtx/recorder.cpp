// A tool as NVTX loads it (NVTX_INJECTION64_PATH): writes down what a program says, one line a call, into the file named by
// ULPSCOPE_NVTX_LOG.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

namespace {

std::FILE* log_file() {
  static std::FILE* const file = [] {
    const char* path = std::getenv("ULPSCOPE_NVTX_LOG");
    return path == nullptr ? stderr : std::fopen(path, "w");
  }();
  return file;
}

/// What the program is handed as handles: they stay where they are.
std::deque<std::string>& names() {
  static std::deque<std::string> held;
  return held;
}
template <class Handle>
Handle handle_of(const char* name) {
  return reinterpret_cast<Handle>(&names().emplace_back(name));
}
const char* text_of(const void* handle) { return static_cast<const std::string*>(handle)->c_str(); }

nvtxDomainHandle_t NVTX_API create(const char* name) {
  std::fprintf(log_file(), "domain %s\n", name);
  return handle_of<nvtxDomainHandle_t>(name);
}
nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t, const char* name) { return handle_of<nvtxStringHandle_t>(name); }
void NVTX_API name_category(nvtxDomainHandle_t, std::uint32_t category, const char* name) {
  std::fprintf(log_file(), "category %u %s\n", category, name);
}
int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  const char* message = a->messageType == NVTX_MESSAGE_TYPE_REGISTERED ? text_of(a->message.registered) : a->message.ascii;
  std::fprintf(log_file(), "push %s %u %s", text_of(domain), a->category, message);
  if (a->payloadType == NVTX_PAYLOAD_TYPE_INT64) std::fprintf(log_file(), " %lld", static_cast<long long>(a->payload.llValue));
  std::fputc('\n', log_file());
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
  std::fprintf(log_file(), "pop\n");
  std::fflush(log_file());
  return 0;
}

template <class Function>
void put(NvtxFunctionTable table, unsigned size, NvtxCallbackIdCore2 id, Function* function) {
  if (static_cast<unsigned>(id) < size) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" NVTX_DYNAMIC_EXPORT int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table);

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  put(table, size, NVTX_CBID_CORE2_DomainCreateA, create);
  put(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  put(table, size, NVTX_CBID_CORE2_DomainNameCategoryA, name_category);
  put(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  put(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
