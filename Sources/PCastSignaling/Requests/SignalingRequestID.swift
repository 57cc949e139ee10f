/// The number of a request in one conversation, counted from 1. The protocol has it as a decimal number.
package struct SignalingRequestID: Hashable, Sendable {
    /// The number.
    package let number: UInt64

    init(number: UInt64) { self.number = number }

    /// Parses an ID of the protocol; nil if it is not a decimal number without a sign.
    init?(wire text: String) {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(text) else { return nil }
        self.number = number
    }

    /// The ID in the form of the protocol.
    var wire: String { String(number) }
}
