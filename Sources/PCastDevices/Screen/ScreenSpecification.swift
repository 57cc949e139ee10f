/// Which picture of a screen is meant, as people and `Screens.enumerate` write it:
///
/// | text | what |
/// |---|---|
/// | nothing | the screen of `$DISPLAY` |
/// | `:0`, `:99.0`, `host:10.0` | a display's screen, named as X11 does (`[HOST]:DISPLAY[.SCREEN]`) |
/// | `HDMI-1` | one monitor of `$DISPLAY`, by the name that `xrandr --listmonitors` shows |
/// | `:0.0:HDMI-1` | one monitor of a display |
/// | `0x1400003` | one window of `$DISPLAY`, by the number that `xwininfo` shows |
/// | `:0.0+0x1400003` | one window of a display; the number may be decimal too |
///
/// `x11:` may stand before each of them; with it, and a display with its screen, it is a device's id.
public struct ScreenSpecification: Hashable, Sendable {
    public enum Area: Hashable, Sendable {
        /// All that the screen shows, on however many monitors.
        case screen
        /// By RandR's name.
        case monitor(String)
        /// By the server's number of it.
        case window(UInt32)
    }

    /// Nil for `$DISPLAY`.
    public var display: String?
    public var area: Area

    public init(display: String? = nil, area: Area = .screen) {
        self.display = display
        self.area = area
    }

    /// - Throws: `.unusable` for what cannot be meant by any of the forms.
    public init(_ text: String) throws(DeviceError) {
        let body = text.hasPrefix("x11:") ? text.dropFirst("x11:".count) : Substring(text)
        guard !body.contains(where: { $0.isWhitespace }), body.utf8.count <= 512 else {
            throw .unusable(text, reason: "no display, monitor or window is called so")
        }
        guard let end = Self.endOfDisplay(body) else {
            display = nil
            area = try Self.area(body, of: text)
            return
        }
        display = String(body[..<end])
        var rest = body[end...]
        // After a display, a colon stands before a monitor.
        let isMonitor = rest.first == ":"
        if isMonitor { rest = rest.dropFirst() }
        area = isMonitor ? try Self.monitor(rest, of: text) : try Self.area(rest, of: text)
    }

    /// Where a display at the text's beginning ends: after the first colon that numbers follow, `DISPLAY[.SCREEN]`, and
    /// then nothing, a monitor's colon or a window's plus. Nil when there is no display.
    private static func endOfDisplay(_ text: Substring) -> Substring.Index? {
        var start = text.startIndex
        while let colon = text[start...].firstIndex(of: ":") {
            start = text.index(after: colon)
            var end = text[start...].firstIndex { !isDigit($0) } ?? text.endIndex
            guard end > start else { continue }
            if end < text.endIndex, text[end] == "." {
                let screen = text.index(after: end)
                let endOfScreen = text[screen...].firstIndex { !isDigit($0) } ?? text.endIndex
                if endOfScreen > screen { end = endOfScreen }
            }
            if end == text.endIndex || text[end] == ":" || text[end] == "+" { return end }
        }
        return nil
    }

    private static func area(_ text: Substring, of whole: String) throws(DeviceError) -> Area {
        if text.isEmpty { return .screen }
        guard text.hasPrefix("+") || text.hasPrefix("0x") else { return try monitor(text, of: whole) }
        let number = text.hasPrefix("+") ? text.dropFirst() : text
        let isHexadecimal = number.hasPrefix("0x")
        let digits = isHexadecimal ? number.dropFirst(2) : number
        guard digits.first != "-", digits.first != "+", let id = UInt32(digits, radix: isHexadecimal ? 16 : 10), id != 0
        else { throw .unusable(whole, reason: "\(number) is no number of a window") }
        return .window(id)
    }

    private static func monitor(_ text: Substring, of whole: String) throws(DeviceError) -> Area {
        guard !text.isEmpty, !text.contains(":"), !text.contains("+") else {
            throw .unusable(whole, reason: "no monitor is called so")
        }
        return .monitor(String(text))
    }

    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }
}

extension ScreenSpecification: CustomStringConvertible {
    /// Is read as the same specification.
    public var description: String {
        let display = display.map { "x11:\($0)" } ?? ""
        return switch area {
        case .screen: display
        case .monitor(let name): display + (display.isEmpty ? "" : ":") + name
        case .window(let id): display + "+0x" + String(id, radix: 16)
        }
    }
}
