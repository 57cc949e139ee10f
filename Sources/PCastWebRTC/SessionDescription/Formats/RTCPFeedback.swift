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

    /// `ccm pause`: a receiver may ask for the stream to be paused and resumed (RFC 7728, section 9).
    public static let pause = RTCPFeedback(rawValue: 32)
    /// `ccm pause nowait`: nobody else receives it who would have to be waited for. Means nothing without `pause`.
    public static let pauseWithoutWait = RTCPFeedback(rawValue: 64)

    /// Every kind.
    public static let all: RTCPFeedback = [.nack, .pli, .fir, .transportCC, .remb, .pause, .pauseWithoutWait]

    private static let names: [(RTCPFeedback, String)] = [
        (.remb, "goog-remb"), (.transportCC, "transport-cc"), (.fir, "ccm fir"), (.nack, "nack"), (.pli, "nack pli"),
    ]

    /// Empty for a kind not listed here.
    init(value: String) {
        self = Self.names.first { $0.1 == value }?.0 ?? Self.pause(value: value)
    }

    /// `ccm pause` and its attributes, of which those to come are ignored. A peer that speaks only a part of the
    /// messages (`config` other than 1) is one that does not speak them: the answer leaves the line out, as it may.
    private static func pause(value: String) -> RTCPFeedback {
        let words = value.split(separator: " ")
        guard words.starts(with: ["ccm", "pause"]) else { return [] }
        let attributes = words.dropFirst(2)
        guard attributes.allSatisfy({ !$0.hasPrefix("config=") || $0 == "config=1" }) else { return [] }
        return attributes.contains("nowait") ? [.pause, .pauseWithoutWait] : .pause
    }

    func attributes(for payloadType: UInt8) -> [FeedbackAttribute] {
        var values = Self.names.filter { contains($0.0) }.map(\.1)
        if contains(.pause) { values.append(contains(.pauseWithoutWait) ? "ccm pause nowait" : "ccm pause") }
        return values.map { FeedbackAttribute(payloadType: payloadType, value: $0) }
    }

    /// One bandwidth estimator: transport-wide feedback where its sequence numbers are carried, else REMB.
    func withOneEstimator(hasTransportSequenceNumbers: Bool) -> RTCPFeedback {
        var feedback = self
        if !hasTransportSequenceNumbers { feedback.remove(.transportCC) }
        if feedback.contains(.transportCC) { feedback.remove(.remb) }
        return feedback
    }
}
