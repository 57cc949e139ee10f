import PCastCore

/// Parses the input from a terminal: keys, and responses to queries. Incomplete sequences wait for the rest. It does no
/// I/O.
struct TerminalInput {
    enum Item: Equatable {
        case key(SurfaceKey)
        /// The left button of the mouse was pressed.
        case click
        /// Whether the terminal supports kitty's graphics protocol.
        case graphics(Bool)
        /// The size of a cell in pixels.
        case cell(Dimensions)
        /// The primary device attributes (DA1), which the terminal sends after all other responses.
        case attributes
    }

    /// The longest sequence. A longer one is discarded.
    private static let longestSequence = 512

    private var bytes: [UInt8] = []

    /// Parses input. An escape character without further input is the Escape key.
    mutating func take(_ more: some Collection<UInt8>) -> [Item] {
        bytes += more
        var items: [Item] = []
        while let first = bytes.first {
            if first != 0x1B {
                bytes.removeFirst()
                if let key = Self.key(first) { items.append(.key(key)) }
                continue
            }
            guard let length = sequenceLength() else {
                if bytes.count > Self.longestSequence { bytes.removeAll() }
                return items
            }
            let sequence = bytes.prefix(length)
            bytes.removeFirst(length)
            if let item = Self.item(Array(sequence)) { items.append(item) }
        }
        return items
    }

    /// Returns the length of the first escape sequence; nil if it is incomplete.
    private func sequenceLength() -> Int? {
        guard bytes.count > 1 else { return 1 }
        switch bytes[1] {
        case 0x5B where bytes.count > 2 && bytes[2] == 0x4D:
            // The mouse's with three bytes, of terminals without mode 1006.
            return bytes.count > 5 ? 6 : nil
        case 0x5B:  // CSI: up to its final byte
            return bytes.dropFirst(2).firstIndex { (0x40...0x7E).contains($0) }.map { $0 + 1 }
        case 0x4F: return bytes.count > 2 ? 3 : nil  // SS3: keys in application mode
        case 0x5F, 0x50, 0x5D:  // APC, DCS, OSC: up to ST
            for index in bytes.indices.dropFirst(3) where bytes[index] == 0x5C && bytes[index - 1] == 0x1B {
                return index + 1
            }
            return nil
        case 0x1B: return 1
        default: return 2
        }
    }

    private static func item(_ sequence: [UInt8]) -> Item? {
        if sequence.count == 1 { return .key(.escape) }
        let text = String(decoding: sequence.dropFirst(2), as: UTF8.self)
        switch (sequence[1], sequence.last) {
        case (0x5B, 0x41), (0x4F, 0x41): return .key(.up)
        case (0x5B, 0x42), (0x4F, 0x42): return .key(.down)
        case (0x5B, 0x43), (0x4F, 0x43): return .key(.right)
        case (0x5B, 0x44), (0x4F, 0x44): return .key(.left)
        case (0x5B, _) where sequence[2] == 0x4D && sequence.count == 6: return leftClick(Int(sequence[3]) - 32)
        case (0x5B, 0x4D) where text.hasPrefix("<"):
            return text.dropFirst().split(separator: ";").first.flatMap { Int($0) }.flatMap(leftClick)
        case (0x5B, 0x63) where text.hasPrefix("?"): return .attributes
        case (0x5B, 0x74):
            let numbers = text.dropLast().split(separator: ";").compactMap { Int($0) }
            guard numbers.count == 3, numbers[0] == 6, (1...512).contains(numbers[1]), (1...512).contains(numbers[2])
            else { return nil }
            return .cell(Dimensions(width: numbers[2], height: numbers[1]))
        case (0x5F, _) where text.hasPrefix("G"): return .graphics(text.contains(";OK"))
        default: return nil
        }
    }

    /// Returns a click if an xterm mouse report is about the left button; nil otherwise. The button of a report also
    /// has bits for modifiers, motion and the wheel.
    private static func leftClick(_ button: Int) -> Item? { button & 0b1110_0011 == 0 ? .click : nil }

    private static func key(_ byte: UInt8) -> SurfaceKey? {
        switch byte {
        case 0x0D, 0x0A: .enter
        case 0x20..<0x7F: .character(Character(String(UnicodeScalar(byte)).lowercased()))
        default: nil
        }
    }
}
