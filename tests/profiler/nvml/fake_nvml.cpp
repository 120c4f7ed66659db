// A library with the functions of NVML that are asked for.
#include "tests/profiler/nvml/fake_nvml.h"

#include <cstring>

extern "C" {
__attribute__((visibility("default"))) FakeNvml* fake_nvml() {
  static FakeNvml fake;
  return &fake;
}
#ifndef WITHOUT_FUNCTIONS
__attribute__((visibility("default"))) int nvmlInit_v2() {
  ++fake_nvml()->inits;
  return fake_nvml()->init;
}
__attribute__((visibility("default"))) int nvmlShutdown() {
  ++fake_nvml()->shutdowns;
  return 0;
}
__attribute__((visibility("default"))) const char* nvmlErrorString(int code) { return code == 999 ? "Unknown\nError" : "Some Error"; }
__attribute__((visibility("default"))) int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = fake_nvml()->gpus;
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<char*>(fake_nvml()) + index;
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  std::strncpy(fake_nvml()->asked_for, id, sizeof(fake_nvml()->asked_for) - 1);
  *device = fake_nvml();
  return fake_nvml()->by_bus_id;
}
__attribute__((visibility("default"))) int nvmlDeviceGetClockInfo(void*, int which, unsigned* mhz) {
  *mhz = which == 1 ? fake_nvml()->core_mhz : which == 2 ? fake_nvml()->memory_mhz : 0;
  return fake_nvml()->clock;
}
__attribute__((visibility("default"))) int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = fake_nvml()->milliwatts;
  return fake_nvml()->power;
}
__attribute__((visibility("default"))) int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = fake_nvml()->celsius;
  return fake_nvml()->temperature;
}
// The older of its two names.
__attribute__((visibility("default"))) int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = fake_nvml()->reasons;
  return fake_nvml()->throttling;
}
#endif
}
