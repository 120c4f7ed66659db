#include "gui/widgets/theme.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusVariant>
#include <QStyleFactory>
#include <QStyleHints>
#include <QTextDocument>
#include <QTextOption>
#include <optional>

namespace ulpscope::gui {
namespace {

std::optional<bool> darkByPortal() {
  const QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected()) return std::nullopt;
  QDBusMessage call = QDBusMessage::createMethodCall(QStringLiteral("org.freedesktop.portal.Desktop"), QStringLiteral("/org/freedesktop/portal/desktop"),
                                                     QStringLiteral("org.freedesktop.portal.Settings"), QStringLiteral("Read"));
  call << QStringLiteral("org.freedesktop.appearance") << QStringLiteral("color-scheme");
  constexpr int patienceMs = 200;
  const QDBusMessage answer = bus.call(call, QDBus::Block, patienceMs);
  if (answer.type() != QDBusMessage::ReplyMessage || answer.arguments().isEmpty()) return std::nullopt;
  QVariant value = answer.arguments().front();
  while (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();
  const uint scheme = value.toUInt();  // 0: no preference, 1: dark, 2: light
  if (scheme == 0) return std::nullopt;
  return scheme == 1;
}

}  // namespace

bool systemIsDark() {
  static const bool dark = [] {
    if (const std::optional<bool> said = darkByPortal()) return *said;
    const QPalette palette = QGuiApplication::palette();  // before the program set its own
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
  }();
  return dark;
}

QPalette makePalette(bool dark) {
  QPalette p;
  const auto set = [&](QPalette::ColorRole role, QRgb light_colour, QRgb dark_colour) { p.setColor(role, QColor::fromRgb(dark ? dark_colour : light_colour)); };
  set(QPalette::Window, 0xf3f4f6, 0x22262c);
  set(QPalette::WindowText, 0x1b1f24, 0xe4e7eb);
  set(QPalette::Base, 0xffffff, 0x1a1d22);
  set(QPalette::AlternateBase, 0xf6f7f9, 0x20242a);
  set(QPalette::Text, 0x1b1f24, 0xe4e7eb);
  set(QPalette::Button, 0xeceef1, 0x2c3138);
  set(QPalette::ButtonText, 0x1b1f24, 0xe4e7eb);
  set(QPalette::BrightText, 0xd63b3b, 0xff7b72);
  set(QPalette::Highlight, 0x2563eb, 0x3b6fd8);
  set(QPalette::HighlightedText, 0xffffff, 0xffffff);
  set(QPalette::Link, 0x1d4ed8, 0x8ab4f8);
  set(QPalette::LinkVisited, 0x6d28d9, 0xc4a7f7);
  set(QPalette::ToolTipBase, 0xffffff, 0x2c3138);
  set(QPalette::ToolTipText, 0x1b1f24, 0xe4e7eb);
  set(QPalette::PlaceholderText, 0x7a828c, 0x8b939d);
  set(QPalette::Light, 0xffffff, 0x3a4049);
  set(QPalette::Midlight, 0xf6f7f9, 0x333941);
  set(QPalette::Mid, 0xc3c8cf, 0x15181c);
  set(QPalette::Dark, 0x9aa1ab, 0x121417);
  set(QPalette::Shadow, 0x5b636d, 0x0a0b0d);
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, QColor::fromRgb(dark ? 0x6d757f : 0x9aa1ab));
  return p;
}

void readAsWindow(QTextDocument& document) {
  QTextOption option = document.defaultTextOption();
  option.setTextDirection(QGuiApplication::layoutDirection());
  option.setAlignment(QGuiApplication::layoutDirection() == Qt::RightToLeft ? Qt::AlignRight | Qt::AlignAbsolute : Qt::AlignLeft);
  document.setDefaultTextOption(option);
}

void applyTheme(Theme theme) {
  const bool dark = theme == Theme::Dark || (theme == Theme::System && systemIsDark());
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(makePalette(dark));
}

}  // namespace ulpscope::gui
