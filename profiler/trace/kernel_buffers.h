// Buffers for CUPTI's records: of one size, made when they are needed, used again, never more than a number of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace ulpscope::profiler {

/// Any thread may call it. It calls nothing while it holds its lock.
class BufferPool {
 public:
  BufferPool(std::size_t bytes, std::size_t most) : bytes_(bytes), most_(most) {}

  /// Null: all are in use, or there is no memory; counted.
  std::byte* take() noexcept;
  /// False: it is none of this pool's that is in use.
  bool give_back(std::byte* buffer) noexcept;

  std::size_t bytes() const { return bytes_; }
  std::size_t made() const;
  std::size_t in_use() const;
  /// How often there was none.
  std::int64_t declined() const;

 private:
  struct Held {
    std::unique_ptr<std::byte[]> memory;
    bool in_use = false;
  };
  const std::size_t bytes_, most_;
  mutable std::mutex mutex_;
  std::vector<Held> buffers_;
  std::int64_t declined_ = 0;
};

/// The one of this process. It is never destroyed: CUPTI may keep a buffer that it has asked for as long as the process lives.
BufferPool& process_buffers();

}  // namespace ulpscope::profiler
