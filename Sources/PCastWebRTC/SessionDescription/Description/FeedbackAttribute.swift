/// An `a=rtcp-fb` line (RFC 4585, section 4.2).
public struct FeedbackAttribute: Hashable, Sendable {
    /// Nil for the wildcard `*`, which means every payload type of the section.
    public var payloadType: UInt8?
    /// What follows the payload type, such as `nack pli`.
    public var value: String

    public init(payloadType: UInt8?, value: String) {
        self.payloadType = payloadType
        self.value = value
    }

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

    var text: String { "\(payloadType.map { String($0) } ?? "*") \(value)" }
}
