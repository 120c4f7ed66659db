#include "reports/export/escape.h"

namespace ulpscope::reports {

std::size_t utf8_sequence(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80u) return 1;
  if (lead >= 0xc2u && lead <= 0xdfu) return follows(1) ? 2 : 0;
  if (lead >= 0xe0u && lead <= 0xefu) {
    const bool overlong = lead == 0xe0u && byte(1) < 0xa0u, surrogate = lead == 0xedu && byte(1) > 0x9fu;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xf0u && lead <= 0xf4u) {
    const bool outside = (lead == 0xf0u && byte(1) < 0x90u) || (lead == 0xf4u && byte(1) > 0x8fu);
    return follows(1) && follows(2) && follows(3) && !outside ? 4 : 0;
  }
  return 0;
}

bool turns_direction(std::string_view sequence) {
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto last = static_cast<unsigned char>(sequence[2]);
  if (sequence[1] == '\x80') return last == 0x8eu || last == 0x8fu || (last >= 0xaau && last <= 0xaeu);
  return sequence[1] == '\x81' && last >= 0xa6u && last <= 0xa9u;
}

}  // namespace ulpscope::reports
