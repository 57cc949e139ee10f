/// The RTP header extensions that PCast supports.
public enum RTPHeaderExtension: UInt8, Hashable, Sendable, CaseIterable {
    /// Extensions that identify or describe the packet.
    case mid, rid, repairedRid, transportSequenceNumber, absoluteSendTime, playoutDelay, videoOrientation, audioLevel
    /// Extensions about time.
    case absoluteCaptureTime, transmissionOffset

    /// The number of extensions; `allCases` would allocate an array for each packet.
    static let count = 10

    /// The URI in the SDP attribute `extmap` (RFC 8285, section 5).
    public var uri: String {
        switch self {
        case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
        case .rid: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
        case .repairedRid: "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
        case .transportSequenceNumber: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        case .absoluteSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        case .playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        case .videoOrientation: "urn:3gpp:video-orientation"
        case .audioLevel: "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
        case .absoluteCaptureTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
        case .transmissionOffset: "urn:ietf:params:rtp-hdrext:toffset"
        }
    }

    /// Finds the extension with a URI. Returns nil if PCast does not support it.
    public init?(uri: some StringProtocol) {
        guard let match = Self.allCases.first(where: { $0.uri == uri }) else { return nil }
        self = match
    }
}
