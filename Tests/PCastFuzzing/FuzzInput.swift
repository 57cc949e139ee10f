/// Divides an input into the numbers and chunks that drive a machine.
struct FuzzInput {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }

    /// Returns the next byte; zero after the end.
    mutating func byte() -> UInt8 {
        guard position < bytes.count else { return 0 }
        defer { position += 1 }
        return bytes[position]
    }

    /// Returns the next integer in big-endian order.
    mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value {
        (0..<Value.bitWidth / 8).reduce(0) { value, _ in value << 8 | Value(truncatingIfNeeded: byte()) }
    }

    /// Returns bytes after their two-byte count; fewer if the input ends.
    mutating func chunk() -> [UInt8] {
        let count = min(Int(integer(UInt16.self)), bytes.count - min(position, bytes.count))
        defer { position += count }
        return Array(bytes[min(position, bytes.count)..<min(position, bytes.count) + count])
    }

    mutating func rest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[min(position, bytes.count)...])
    }

    /// Returns the input from which `chunk` reads the chunks.
    static func chunks(_ chunks: [[UInt8]]) -> [UInt8] {
        chunks.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }
    }
}
