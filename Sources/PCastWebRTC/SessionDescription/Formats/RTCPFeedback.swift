/// The kinds of RTCP feedback this project speaks.
public struct RTCPFeedback: OptionSet, Hashable, Sendable {
    /// A bit for each kind.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `nack` (RFC 4585, section 4.2).
    public static let nack = RTCPFeedback(rawValue: 1)
    /// `nack pli` (RFC 4585, section 4.2).
    public static let pli = RTCPFeedback(rawValue: 2)
    /// `ccm fir` (RFC 5104, section 7.1).
    public static let fir = RTCPFeedback(rawValue: 4)
    /// `transport-cc` (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    public static let transportCC = RTCPFeedback(rawValue: 8)
    /// `goog-remb` (draft-alvestrand-rmcat-remb-03).
    public static let remb = RTCPFeedback(rawValue: 16)

    /// Every kind.
    public static let all: RTCPFeedback = [.nack, .pli, .fir, .transportCC, .remb]

    private static let names: [(RTCPFeedback, String)] = [
        (.remb, "goog-remb"), (.transportCC, "transport-cc"), (.fir, "ccm fir"), (.nack, "nack"), (.pli, "nack pli"),
    ]

    /// Empty for a kind not listed here.
    init(value: String) {
        self = Self.names.first { $0.1 == value }?.0 ?? []
    }

    func attributes(for payloadType: UInt8) -> [FeedbackAttribute] {
        Self.names.filter { contains($0.0) }.map { FeedbackAttribute(payloadType: payloadType, value: $0.1) }
    }

    /// One bandwidth estimator: transport-wide feedback where its sequence numbers are carried, else REMB.
    func withOneEstimator(hasTransportSequenceNumbers: Bool) -> RTCPFeedback {
        var feedback = self
        if !hasTransportSequenceNumbers { feedback.remove(.transportCC) }
        if feedback.contains(.transportCC) { feedback.remove(.remb) }
        return feedback
    }
}
