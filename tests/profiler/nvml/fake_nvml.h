// What the library that stands for NVML answers.
#pragma once

struct FakeNvml {
  int init = 0;                    ///< nvmlReturn_t of each call
  unsigned gpus = 1;
  int by_bus_id = 0;
  int clock = 0, power = 0, temperature = 0, throttling = 0;
  unsigned core_mhz = 1980, memory_mhz = 2619, milliwatts = 512345, celsius = 61;
  unsigned long long reasons = 0;
  // What the library notes.
  int inits = 0, shutdowns = 0;
  char asked_for[32] = {};         ///< bus id
};
