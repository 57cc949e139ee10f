/// The supported types of RTCP feedback.
public struct RTCPFeedback: OptionSet, Hashable, Sendable {
    /// The bit mask of types.
    public let rawValue: UInt8

    /// Creates a set from a bit mask.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// NACK (`nack`, RFC 4585, section 4.2).
    public static let nack = RTCPFeedback(rawValue: 1)
    /// PLI (`nack pli`, RFC 4585, section 4.2).
    public static let pli = RTCPFeedback(rawValue: 2)
    /// FIR (`ccm fir`, RFC 5104, section 7.1).
    public static let fir = RTCPFeedback(rawValue: 4)
    /// Transport-wide feedback (`transport-cc`, draft-holmer-rmcat-transport-wide-cc-extensions-01).
    public static let transportCC = RTCPFeedback(rawValue: 8)
    /// REMB (`goog-remb`, draft-alvestrand-rmcat-remb-03).
    public static let remb = RTCPFeedback(rawValue: 16)

    /// Pause and resume by the receiver (`ccm pause`, RFC 7728, section 9).
    public static let pause = RTCPFeedback(rawValue: 32)
    /// Pause without a wait for other receivers, because there are none (`ccm pause nowait`). It has an effect only
    /// with ``pause``.
    public static let pauseWithoutWait = RTCPFeedback(rawValue: 64)

    /// All supported types.
    public static let all: RTCPFeedback = [.nack, .pli, .fir, .transportCC, .remb, .pause, .pauseWithoutWait]

    /// The types with their names in SDP, except for `pause`.
    private static let names: [(RTCPFeedback, String)] = [
        (.remb, "goog-remb"), (.transportCC, "transport-cc"), (.fir, "ccm fir"), (.nack, "nack"), (.pli, "nack pli"),
    ]

    /// Reads the value of an `rtcp-fb` line; empty for an unsupported type.
    init(value: String) {
        self = Self.names.first { $0.1 == value }?.0 ?? Self.pause(value: value)
    }

    /// Reads `ccm pause` with its attributes, of which unknown ones are ignored. A peer that supports only some
    /// messages (`config` other than 1) counts as one that supports none, so the answer omits the line.
    private static func pause(value: String) -> RTCPFeedback {
        let words = value.split(separator: " ")
        guard words.starts(with: ["ccm", "pause"]) else { return [] }
        let attributes = words.dropFirst(2)
        guard attributes.allSatisfy({ !$0.hasPrefix("config=") || $0 == "config=1" }) else { return [] }
        return attributes.contains("nowait") ? [.pause, .pauseWithoutWait] : .pause
    }

    /// Returns the `rtcp-fb` lines of a payload type.
    func attributes(for payloadType: UInt8) -> [FeedbackAttribute] {
        var values = Self.names.filter { contains($0.0) }.map(\.1)
        if contains(.pause) { values.append(contains(.pauseWithoutWait) ? "ccm pause nowait" : "ccm pause") }
        return values.map { FeedbackAttribute(payloadType: payloadType, value: $0) }
    }

    /// Returns the set with at most one bandwidth estimation: transport-wide feedback if packets have its sequence
    /// numbers, else REMB.
    func withOneEstimator(hasTransportSequenceNumbers: Bool) -> RTCPFeedback {
        var feedback = self
        if !hasTransportSequenceNumbers { feedback.remove(.transportCC) }
        if feedback.contains(.transportCC) { feedback.remove(.remb) }
        return feedback
    }
}
