/// A request within one conversation, counted from 1; on the wire a decimal number.
public struct SignalingRequestID: Hashable, Sendable {
    public let number: UInt64

    init(number: UInt64) { self.number = number }

    /// Nil for anything but a decimal number without sign.
    init?(wire text: String) {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(text) else { return nil }
        self.number = number
    }

    var wire: String { String(number) }
}
