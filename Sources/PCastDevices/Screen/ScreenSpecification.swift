/// An area of a screen, as on a command line and in the identifiers of `Screens.enumerate`:
///
/// | text | area | |---|---| | (empty) | the screen of `$DISPLAY` | | `:0`, `:99.0`, `host:10.0` | the screen of a
/// display in X11's form (`[HOST]:DISPLAY[.SCREEN]`) | | `HDMI-1` | a monitor of `$DISPLAY`, by the name that `xrandr
/// --listmonitors` shows | | `:0.0:HDMI-1` | a monitor of a display | | `0x1400003` | a window of `$DISPLAY`, by the ID
/// that `xwininfo` shows | | `:0.0+0x1400003` | a window of a display; the ID may also be decimal |
///
/// Each form may have the prefix `x11:`. With the prefix and a complete display, it is the ID of a device.
package struct ScreenSpecification: Hashable, Sendable {
    /// A part of a screen.
    package enum Area: Hashable, Sendable {
        /// The whole screen with all of its monitors.
        case screen
        /// A monitor, by its RandR name.
        case monitor(String)
        /// A window, by its ID.
        case window(UInt32)
    }

    /// The display; nil for `$DISPLAY`.
    package var display: String?
    /// The part of the screen.
    package var area: Area

    /// Creates a specification.
    package init(display: String? = nil, area: Area = .screen) {
        self.display = display
        self.area = area
    }

    /// Parses a text. Throws `DeviceError.unusable` if it has none of these forms.
    package init(_ text: String) throws(DeviceError) {
        let body = text.hasPrefix("x11:") ? text.dropFirst("x11:".count) : Substring(text)
        guard !body.contains(where: { $0.isWhitespace }), body.utf8.count <= 512 else {
            throw .unusable(text, reason: "there is no display, monitor or window of this name")
        }
        guard let end = Self.endOfDisplay(body) else {
            display = nil
            area = try Self.area(body, of: text)
            return
        }
        display = String(body[..<end])
        var rest = body[end...]
        // A colon after a display precedes a monitor.
        let isMonitor = rest.first == ":"
        if isMonitor { rest = rest.dropFirst() }
        area = isMonitor ? try Self.monitor(rest, of: text) : try Self.area(rest, of: text)
    }

    /// Returns the end of a display at the beginning of the text. It is after the first colon that is followed by
    /// `DISPLAY[.SCREEN]` and then the end, a colon or a plus sign. Returns nil if there is no display.
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
        else { throw .unusable(whole, reason: "\(number) is not a window ID") }
        return .window(id)
    }

    private static func monitor(_ text: Substring, of whole: String) throws(DeviceError) -> Area {
        guard !text.isEmpty, !text.contains(":"), !text.contains("+") else {
            throw .unusable(whole, reason: "there is no monitor of this name")
        }
        return .monitor(String(text))
    }

    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }
}

extension ScreenSpecification: CustomStringConvertible {
    /// The text from which the same specification can be parsed.
    package var description: String {
        let display = display.map { "x11:\($0)" } ?? ""
        return switch area {
        case .screen: display
        case .monitor(let name): display + (display.isEmpty ? "" : ":") + name
        case .window(let id): display + "+0x" + String(id, radix: 16)
        }
    }
}
