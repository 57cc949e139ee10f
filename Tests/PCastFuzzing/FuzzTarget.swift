import PCastCore

/// A parser of untrusted bytes, or a machine that such bytes drive.
///
/// Each target processes its input as the product would, and checks invariants: there is no trap, what is written can
/// be read back, and output stays within bounds.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case stun
    case turn
    case rtp
    case rtcp
    case h264
    case vp8
    case vp9
    case av1
    case h265
    case h265PassThrough
    case opus
    case jitter
    case keyFrame
    case outboundStream
    case dependencyDescriptor
    case nack
    case redundancy
    case sdp
    case trickle
    case iceCandidate
    case ipAddress
    case edgeAuthToken
    case jsonWebToken
    case jsonWebKeySet
    case json
    case signaling
    case signalingMessage
    case nodeMessage
    case clusterRecord
    case requestText
    case captions
    case playlist
    case segmentText
    case steering
    case serverSentEvents
    case rtmp
    case rtmpMedia
    case amf0
    case transportStream
    case srtStreamID
    case spliceInformation
    case overlay
    case timeline
    case srtp
    case dtls
    case packaging
    case videoRequest
    case relayMedia
    case callMedia
    case pipeWirePod
    case pageAudio
    case cookies
    case contentCoding
    case s3Response
    case webAddress
    case roomEvent
    case sampleDecryption
    case rtspReply
    case streamFraming
    case processMessage

    /// Runs the target on an input.
    ///
    /// - Returns: Whether the input passed the first parser. An example of the corpus that does not is out of date.
    /// - Throws: ``BrokenInvariant`` if an invariant does not hold.
    @discardableResult
    public func run(_ bytes: [UInt8]) async throws(BrokenInvariant) -> Bool {
        switch self {
        case .stun: try STUNTarget.run(bytes)
        case .turn: try TURNTarget.run(bytes)
        case .rtp: try RTPTarget.run(bytes)
        case .rtcp: try RTCPTarget.run(bytes)
        case .h264: try PayloadTarget.run(.h264, bytes)
        case .vp8: try PayloadTarget.run(.vp8, bytes)
        case .vp9: try PayloadTarget.run(.vp9, bytes)
        case .av1: try PayloadTarget.run(.av1, bytes)
        case .h265: try PayloadTarget.run(.h265, bytes)
        case .opus: try PayloadTarget.run(.opus, bytes)
        case .jitter: try JitterTarget.run(bytes)
        case .keyFrame: try KeyFrameTarget.run(bytes)
        case .outboundStream: try OutboundStreamTarget.run(bytes)
        case .dependencyDescriptor: try DependencyDescriptorTarget.run(bytes)
        case .nack: try NACKTarget.run(bytes)
        case .redundancy: try RedundancyTarget.run(bytes)
        case .sdp: try SDPTarget.run(bytes)
        case .trickle: try TrickleTarget.run(bytes)
        case .iceCandidate: try ICECandidateTarget.run(bytes)
        case .ipAddress: try IPAddressTarget.run(bytes)
        case .edgeAuthToken: try EdgeAuthTokenTarget.run(bytes)
        case .jsonWebToken: try JSONWebTokenTarget.run(bytes)
        case .jsonWebKeySet: try await JSONWebKeySetTarget.run(bytes)
        case .json: try JSONTarget.run(bytes)
        case .signaling: try SignalingTarget.run(bytes)
        case .signalingMessage: try SignalingMessageTarget.run(bytes)
        case .nodeMessage: try NodeMessageTarget.run(bytes)
        case .clusterRecord: try ClusterRecordTarget.run(bytes)
        case .requestText: try RequestTextTarget.run(bytes)
        case .captions: try CaptionTarget.run(bytes)
        case .playlist: try PlaylistTarget.run(bytes)
        case .segmentText: try SegmentTextTarget.run(bytes)
        case .steering: try SteeringTarget.run(bytes)
        case .serverSentEvents: try ServerSentEventsTarget.run(bytes)
        case .rtmp: try RTMPTarget.run(bytes)
        case .rtmpMedia: try RTMPMediaTarget.run(bytes)
        case .amf0: try AMF0Target.run(bytes)
        case .transportStream: try TransportStreamTarget.run(bytes)
        case .srtStreamID: try SRTStreamIDTarget.run(bytes)
        case .spliceInformation: try SpliceInformationTarget.run(bytes)
        case .overlay: try OverlayTarget.run(bytes)
        case .timeline: try TimelineTarget.run(bytes)
        case .srtp: try SRTPTarget.run(bytes)
        case .dtls: try DTLSTarget.run(bytes)
        case .packaging: try PackagingTarget.run(bytes)
        case .videoRequest: try VideoRequestTarget.run(bytes)
        case .relayMedia: try RelayMediaTarget.run(bytes)
        case .callMedia: try CallMediaTarget.run(bytes)
        case .pipeWirePod: try PipeWirePodTarget.run(bytes)
        case .pageAudio: try PageAudioTarget.run(bytes)
        case .cookies: try CookieTarget.run(bytes)
        case .contentCoding: try await ContentCodingTarget.run(bytes)
        case .s3Response: try S3ResponseTarget.run(bytes)
        case .webAddress: try WebAddressTarget.run(bytes)
        case .roomEvent: try RoomEventTarget.run(bytes)
        case .sampleDecryption: try SampleDecryptionTarget.run(bytes)
        case .h265PassThrough: try H265PassThroughTarget.run(bytes)
        case .rtspReply: try RTSPReplyTarget.run(bytes)
        case .streamFraming: try StreamFramingTarget.run(bytes)
        case .processMessage: try ProcessMessageTarget.run(bytes)
        }
    }

    /// Valid inputs, from which mutation starts.
    public var corpus: [[UInt8]] {
        switch self {
        case .stun: STUNTarget.corpus
        case .turn: TURNTarget.corpus
        case .rtp: RTPTarget.corpus
        case .rtcp: RTCPTarget.corpus
        case .h264: PayloadTarget.h264Corpus
        case .vp8: PayloadTarget.vp8Corpus
        case .vp9: PayloadTarget.vp9Corpus
        case .av1: PayloadTarget.av1Corpus
        case .h265: PayloadTarget.h265Corpus
        case .opus: PayloadTarget.opusCorpus
        case .jitter: JitterTarget.corpus
        case .keyFrame: KeyFrameTarget.corpus
        case .outboundStream: OutboundStreamTarget.corpus
        case .dependencyDescriptor: DependencyDescriptorTarget.corpus
        case .nack: NACKTarget.corpus
        case .redundancy: RedundancyTarget.corpus
        case .sdp: SDPTarget.corpus
        case .trickle: TrickleTarget.corpus
        case .iceCandidate: ICECandidateTarget.corpus
        case .ipAddress: IPAddressTarget.corpus
        case .edgeAuthToken: EdgeAuthTokenTarget.corpus
        case .jsonWebToken: JSONWebTokenTarget.corpus
        case .jsonWebKeySet: JSONWebKeySetTarget.corpus
        case .json: JSONTarget.corpus
        case .signaling: SignalingTarget.corpus
        case .signalingMessage: SignalingMessageTarget.corpus
        case .nodeMessage: NodeMessageTarget.corpus
        case .clusterRecord: ClusterRecordTarget.corpus
        case .requestText: RequestTextTarget.corpus
        case .captions: CaptionTarget.corpus
        case .playlist: PlaylistTarget.corpus
        case .segmentText: SegmentTextTarget.corpus
        case .steering: SteeringTarget.corpus
        case .serverSentEvents: ServerSentEventsTarget.corpus
        case .rtmp: RTMPTarget.corpus
        case .rtmpMedia: RTMPMediaTarget.corpus
        case .amf0: AMF0Target.corpus
        case .transportStream: TransportStreamTarget.corpus
        case .srtStreamID: SRTStreamIDTarget.corpus
        case .spliceInformation: SpliceInformationTarget.corpus
        case .overlay: OverlayTarget.corpus
        case .timeline: TimelineTarget.corpus
        case .srtp: SRTPTarget.corpus
        case .dtls: DTLSTarget.corpus
        case .packaging: PackagingTarget.corpus
        case .videoRequest: VideoRequestTarget.corpus
        case .relayMedia: RelayMediaTarget.corpus
        case .callMedia: CallMediaTarget.corpus
        case .pipeWirePod: PipeWirePodTarget.corpus
        case .pageAudio: PageAudioTarget.corpus
        case .cookies: CookieTarget.corpus
        case .contentCoding: ContentCodingTarget.corpus
        case .s3Response: S3ResponseTarget.corpus
        case .webAddress: WebAddressTarget.corpus
        case .roomEvent: RoomEventTarget.corpus
        case .sampleDecryption: SampleDecryptionTarget.corpus
        case .h265PassThrough: H265PassThroughTarget.corpus
        case .rtspReply: RTSPReplyTarget.corpus
        case .streamFraming: StreamFramingTarget.corpus
        case .processMessage: ProcessMessageTarget.corpus
        }
    }
}

/// An invariant that did not hold for an input.
public struct BrokenInvariant: Error, CustomStringConvertible {
    /// The invariant and the input's property that violates it.
    public let description: String
}

/// Throws unless the condition holds.
func check(_ condition: Bool, _ claim: @autoclosure () -> String) throws(BrokenInvariant) {
    if !condition { throw BrokenInvariant(description: claim()) }
}
