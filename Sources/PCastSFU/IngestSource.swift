public import PCastCore
import PCastRTP
import PCastWebRTC

/// The media of a publisher in this process, which passes encoded frames. It has no transport and makes no key frames on
/// request, unless its packets are those of another stream.
public struct IngestMedia: Hashable, Sendable {
    /// The codec of the video; nil without video.
    public var video: Codec?
    /// The codecs of video that may follow ``video``, because the packets are those of successive other streams.
    package var furtherVideo: [Codec] = []
    /// The number of video layers with the same content, 1 to ``maximumLayerCount``.
    public var layers: Int
    /// Whether the publisher sends audio, which is Opus.
    public var hasAudio: Bool
    /// Whether requests for key frames are answered, because the frames are those of other streams.
    package var answersKeyFrameRequests = false

    /// The maximum number of video layers.
    public static let maximumLayerCount = 8

    /// The codecs of video that are forwarded.
    static let videoCodecs: [Codec] = [.h264, .vp8, .vp9, .av1, .h265]

    /// The media of a stream that receives the packets of publishers that are not known yet: audio, and one layer of video in
    /// any codec.
    package static var ofAnyPublisher: IngestMedia {
        var media = IngestMedia(video: .h264, hasAudio: true)
        media.answersKeyFrameRequests = true
        media.furtherVideo = videoCodecs
        return media
    }

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - video: The codec of the video, which must not be an audio codec; nil without video.
    ///   - layers: The number of video layers, which is limited to 1 to ``maximumLayerCount``.
    ///   - hasAudio: Whether the publisher sends audio.
    public init(video: Codec?, layers: Int = 1, hasAudio: Bool) {
        precondition(video != .opus, "the video needs a video codec")
        self.video = video
        self.layers = min(max(layers, 1), Self.maximumLayerCount)
        self.hasAudio = hasAudio
    }
}

extension IngestMedia {
    /// The payload types of the packets within the SFU. Further codecs have those after the first one.
    private static let videoPayloadType: UInt8 = 96
    private static let audioPayloadType: UInt8 = 111
    /// The ID of the header extension with the name of the layer (RFC 8852).
    static let layerExtension: UInt8 = 1
    /// The IDs of the header extensions that are forwarded from other streams.
    private static let orientationExtension: UInt8 = 2
    private static let playoutDelayExtension: UInt8 = 3
    private static let audioLevelExtension: UInt8 = 4
    private static let descriptorExtension: UInt8 = 5

    /// The sections, as if they were negotiated.
    var sections: [NegotiatedMedia] {
        var sections: [NegotiatedMedia] = []
        if hasAudio {
            var map = RTPHeaderExtensionMap()
            map[Self.audioLevelExtension] = .audioLevel
            sections.append(
                NegotiatedMedia(
                    receiving: PayloadFormat(codec: .opus, payloadType: Self.audioPayloadType), index: 0, rids: [],
                    extensionMap: map))
        }
        if let video {
            var map = RTPHeaderExtensionMap()
            map[Self.layerExtension] = .rid
            map[Self.orientationExtension] = .videoOrientation
            map[Self.playoutDelayExtension] = .playoutDelay
            let codecs = [video] + furtherVideo.filter { $0 != video && $0.mediaType == .video }
            if answersKeyFrameRequests, codecs.contains(.vp9) || codecs.contains(.av1) {
                map[Self.descriptorExtension] = .dependencyDescriptor
                map.allowsTwoByte = true
            }
            let formats = codecs.enumerated().map { Self.format($1, Self.videoPayloadType + UInt8($0)) }
            var section = NegotiatedMedia(
                receiving: formats[0], index: sections.count, rids: layers > 1 ? (0..<layers).map { "\($0)" } : [],
                extensionMap: map)
            section.acceptablePayloads = formats
            if answersKeyFrameRequests { section.feedback = [.pli] }
            sections.append(section)
        }
        return sections
    }

    /// Returns the format of a codec. The profile does not count for viewers, and the level is that of the sequence
    /// parameter set.
    private static func format(_ codec: Codec, _ payloadType: UInt8) -> PayloadFormat {
        let h264 = codec == .h264 ? H264Format(profile: .constrainedBaseline, level: .level52) : nil
        return PayloadFormat(
            codec: codec, payloadType: payloadType, h264: h264, profile: VideoProfile(mainOf: codec))
    }
}

/// The tracks of a publisher in this process, each of which converts frames to RTP packets.
struct IngestSource {
    /// The layers in the order of the publisher.
    var layers: [IngestTrack] = []
    var audio: IngestTrack?
}

/// Converts the frames of a track to RTP packets and sender reports, as a publisher on the network sends them.
struct IngestTrack {
    /// The interval of sender reports. Viewers synchronize tracks by them.
    static let reportInterval = TimeSpan.seconds(1 as Int64)
    /// The maximum size of an audio packet in bytes, which is not divided.
    static let maximumAudioSize = 1_200
    /// The size of a header with the name of a layer in bytes.
    private static let headerSize = RTPHeader.fixedSize + 8
    /// The size of a buffer for a packet in bytes.
    static let bufferSize = headerSize + max(PayloadPacketizer.defaultMaximumPayloadSize, maximumAudioSize)

    private let codec: Codec
    private let payloadType: UInt8
    private let ssrc: UInt32
    /// The name of the layer, one ASCII character; nil without simulcast.
    private let layer: UInt8?
    private var sequenceNumber: UInt16
    private let timestampOffset: UInt32
    private var pictureID: UInt16
    private var packetCount: UInt32 = 0
    private var octetCount: UInt32 = 0
    private var nextReport: Instant?

    /// Creates a track of a publisher. `layer` is the index of its layer; nil without simulcast.
    init(
        _ section: NegotiatedMedia, layer: Int?, ssrc: UInt32, using generator: inout some RandomNumberGenerator
    ) {
        let offset = UInt32.random(in: 0...UInt32.max, using: &generator)
        self.init(section, layer: layer, ssrc: ssrc, timestampOffset: offset, using: &generator)
    }

    /// Creates the track of a rendition, whose frames have the RTP timestamps of their source.
    init(
        renditionOf section: NegotiatedMedia, ssrc: UInt32, using generator: inout some RandomNumberGenerator
    ) { self.init(section, layer: nil, ssrc: ssrc, timestampOffset: 0, using: &generator) }

    private init(
        _ section: NegotiatedMedia, layer: Int?, ssrc: UInt32, timestampOffset: UInt32,
        using generator: inout some RandomNumberGenerator
    ) {
        self.timestampOffset = timestampOffset
        codec = section.codec
        payloadType = section.payloadType
        self.ssrc = ssrc
        self.layer = layer.map { UInt8(ascii: "0") + UInt8($0) }
        sequenceNumber = UInt16.random(in: 0...UInt16.max, using: &generator)
        pictureID = UInt16.random(in: 0..<0x8000, using: &generator)
    }

    /// Returns whether a frame belongs to the track and can be sent.
    func accepts(_ frame: EncodedFrame) -> Bool {
        frame.codec == codec && !frame.bytes.isEmpty
            && (codec != .opus || frame.bytes.count <= Self.maximumAudioSize)
    }

    private func timestamp(_ frame: EncodedFrame) -> UInt32 {
        timestampOffset &+ UInt32(truncatingIfNeeded: frame.timestamp.ticks)
    }

    /// Passes the packets of an accepted frame to a closure, one after another in the same buffer.
    mutating func packetize(
        _ frame: EncodedFrame, in buffer: MutableByteView, _ body: (ByteView) -> Void
    ) {
        let timestamp = timestamp(frame)
        let headerSize = layer == nil ? RTPHeader.fixedSize : Self.headerSize
        frame.bytes.withByteView { bytes in
            var packetizer = PayloadPacketizer(codec: codec, bytes: bytes, pictureID: pictureID)
            while let packet = packetizer.next(into: buffer.extracting(headerSize...)) {
                writeHeader(isLast: packet.isLast && codec != .opus, timestamp: timestamp, into: buffer)
                body(ByteView(buffer.extracting(0..<headerSize + packet.length)))
                sequenceNumber &+= 1
                packetCount &+= 1
                octetCount &+= UInt32(packet.length)
            }
        }
        pictureID = (pictureID + 1) & 0x7FFF
    }

    private func writeHeader(isLast: Bool, timestamp: UInt32, into buffer: MutableByteView) {
        buffer[0] = layer == nil ? 0x80 : 0x90
        buffer[1] = payloadType | (isLast ? 0x80 : 0)
        buffer.storeBytes(of: sequenceNumber.bigEndian, toByteOffset: 2, as: UInt16.self)
        buffer.storeBytes(of: timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
        buffer.storeBytes(of: ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
        guard let layer else { return }
        // One element with a one-byte header, and two bytes of padding (RFC 8285, section 4.2).
        buffer.storeBytes(of: UInt32(0xBEDE_0001).bigEndian, toByteOffset: 12, as: UInt32.self)
        let element = UInt32(IngestMedia.layerExtension) << 28 | UInt32(layer) << 16
        buffer.storeBytes(of: element.bigEndian, toByteOffset: 16, as: UInt32.self)
    }

    /// Writes a sender report into a buffer if it is due. It states that the frame was captured at a time. Returns the
    /// size in bytes; nil if none is due.
    mutating func report(
        _ frame: EncodedFrame, capturedAt wallTime: WallTime, into buffer: MutableByteView,
        at now: Instant
    ) -> Int? {
        if let nextReport, now < nextReport { return nil }
        nextReport = now + Self.reportInterval
        var writer = RTCPWriter(buffer)
        writer.senderReport(
            SenderInformation(
                ssrc: ssrc, ntpTimestamp: wallTime.ntpTimestamp, rtpTimestamp: timestamp(frame),
                packetCount: packetCount, octetCount: octetCount))
        return writer.count
    }
}
