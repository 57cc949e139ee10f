/// An `a=rtcp-fb` line: a type of RTCP feedback (RFC 4585, section 4.2).
public struct FeedbackAttribute: Hashable, Sendable {
    /// The payload type; nil for the wildcard `*`, which applies to all payload types of the section.
    public var payloadType: UInt8?
    /// The feedback type and its parameters, e.g. `nack pli`.
    public var value: String

    /// Creates an attribute.
    public init(payloadType: UInt8?, value: String) {
        self.payloadType = payloadType
        self.value = value
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let (target, rest) = text.firstPiece
        let value = (rest?.pieces() ?? []).map(\.string).joined(separator: " ")
        guard !value.isEmpty else { return nil }
        guard !target.matches("*") else {
            self.init(payloadType: nil, value: value)
            return
        }
        guard let payloadType = target.decimal(UInt8.self), payloadType <= 127 else { return nil }
        self.init(payloadType: payloadType, value: value)
    }

    /// The value of the attribute.
    var text: String { "\(payloadType.map { String($0) } ?? "*") \(value)" }
}
