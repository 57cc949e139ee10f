package import PCastCore

/// Converts audio and video messages of a published stream to access units with the configuration of their codecs.
package struct RTMPMediaDemuxer: Sendable {
    /// A result, in the order of the messages.
    package enum Output: Hashable, Sendable {
        /// The configuration of a track is new or has changed.
        case configuration(RTMPTrackID, RTMPCodecConfiguration)
        /// A frame.
        case accessUnit(RTMPAccessUnit)
        /// The track has ended. It may begin again.
        case ended(RTMPTrackID)
        /// A problem, each once.
        case warning(RTMPWarning)
    }

    /// The maximum number of tracks of each kind.
    package static let maximumTrackCount = 16
    /// The maximum size of a codec configuration in bytes.
    package static let maximumConfigurationSize = 16 * 1_024
    /// The largest difference between the decoding times of consecutive frames that is not a discontinuity.
    package static let maximumStep = TimeSpan.seconds(10)
    /// The maximum number of different warnings.
    private static let maximumWarningCount = 128

    private struct Track {
        let id: RTMPTrackID
        var codec: FourCC?
        /// The record of the configuration, to recognize a change.
        var record: [UInt8] = []
        /// The configuration; nil if it is missing or malformed.
        var configuration: RTMPCodecConfiguration?
        var lastDecodingTime: TimeSpan?
    }

    private let codecs: Set<FourCC>
    private var tracks: [Track] = []
    private var timeline = RTMPTimeline()
    private var warnings: Set<RTMPWarning> = []

    /// The number of frames and messages that were dropped.
    package private(set) var droppedCount = 0

    /// Creates a demuxer.
    ///
    /// - Parameter codecs: The supported codecs. Frames of others are dropped.
    package init(codecs: Set<FourCC>) { self.codecs = codecs }

    /// Converts a message.
    ///
    /// - Parameters:
    ///   - payload: The payload of the message.
    ///   - mediaType: Whether it is a video or an audio message.
    ///   - timestamp: The timestamp of the message in milliseconds.
    ///   - emit: A closure that receives the results.
    package mutating func handle(
        _ payload: [UInt8], _ mediaType: MediaType, timestamp: UInt32, _ emit: (Output) -> Void
    ) {
        let milliseconds = timeline.unwrap(timestamp)
        let packets: [FLVPacket]
        do throws(FLVError) {
            packets = mediaType == .video ? try FLVVideo.packets(payload) : try FLVAudio.packets(payload)
        } catch {
            droppedCount += 1
            if case .unsupportedCodec(let name) = error {
                warn(.unsupportedCodec(mediaType, name), emit)
            } else {
                warn(.malformedMessage(mediaType), emit)
            }
            return
        }
        for packet in packets where packet.kind != .ignored {
            guard codecs.contains(packet.codec) else {
                droppedCount += 1
                warn(.unsupportedCodec(mediaType, packet.codec.description), emit)
                continue
            }
            guard let index = index(of: RTMPTrackID(mediaType, packet.track)) else {
                droppedCount += 1
                warn(.tooManyTracks(mediaType), emit)
                continue
            }
            handle(packet, payload, track: index, milliseconds: milliseconds, emit)
        }
    }

    private mutating func handle(
        _ packet: FLVPacket, _ payload: [UInt8], track index: Int, milliseconds: Int64, _ emit: (Output) -> Void
    ) {
        if tracks[index].codec != packet.codec {
            (tracks[index].codec, tracks[index].record, tracks[index].configuration) = (packet.codec, [], nil)
        }
        switch packet.kind {
        case .configuration: configure(index, packet, Array(payload[packet.body]), emit)
        case .frame(let compositionOffset):
            // Encoders flush with an empty frame.
            guard !packet.body.isEmpty else { return }
            let decodingTime = TimeSpan.milliseconds(milliseconds) + .nanoseconds(Int64(packet.nanoseconds))
            addFrame(
                index, packet, payload, decodingTime: decodingTime,
                presentationTime: decodingTime + .milliseconds(Int64(compositionOffset)), emit)
        case .end:
            tracks[index].lastDecodingTime = nil
            emit(.ended(tracks[index].id))
        case .ignored: break
        }
    }

    private mutating func index(of id: RTMPTrackID) -> Int? {
        if let index = tracks.firstIndex(where: { $0.id == id }) { return index }
        guard tracks.count(where: { $0.id.mediaType == id.mediaType }) < Self.maximumTrackCount else { return nil }
        tracks.append(Track(id: id))
        return tracks.count - 1
    }

    private mutating func warn(_ warning: RTMPWarning, _ emit: (Output) -> Void) {
        guard warnings.count < Self.maximumWarningCount, warnings.insert(warning).inserted else { return }
        emit(.warning(warning))
    }

    // MARK: Configurations

    private mutating func configure(
        _ index: Int, _ packet: FLVPacket, _ record: [UInt8], _ emit: (Output) -> Void
    ) {
        let id = tracks[index].id
        guard tracks[index].configuration == nil || tracks[index].record != record else { return }
        guard record.count <= Self.maximumConfigurationSize,
            let configuration = Self.configuration(of: packet.codec, record)
        else {
            // The previous configuration stays valid.
            droppedCount += 1
            return warn(.malformedConfiguration(id), emit)
        }
        (tracks[index].record, tracks[index].configuration) = (record, configuration)
        emit(.configuration(id, configuration))
    }

    /// Parses a configuration. Returns nil if it is malformed.
    private static func configuration(of codec: FourCC, _ record: [UInt8]) -> RTMPCodecConfiguration? {
        switch codec {
        case .h264:
            guard let configuration = record.withByteView({ AVCDecoderConfiguration($0) }),
                !configuration.parameterSets.isEmpty
            else { return nil }
            return .h264(configuration)
        case .hevc: return record.withByteView { HEVCDecoderConfiguration($0) }.map { .hevc($0) }
        case .av1: return record.withByteView { AV1DecoderConfiguration($0) }.map { .av1($0) }
        case .aac: return AudioSpecificConfiguration(record).map { .aac($0) }
        // An empty header means mono or stereo (Enhanced RTMP v2, "Enhanced Audio").
        case .opus where record.isEmpty: return .opus(.stereo)
        case .opus: return OpusIdentificationHeader(record).map { .opus($0) }
        default: return .other(codec, record)
        }
    }

    /// Returns the configuration of a codec that needs none to be decoded; nil for others.
    private static func implicitConfiguration(of codec: FourCC) -> RTMPCodecConfiguration? {
        switch codec {
        case .opus: .opus(.stereo)
        case .vp8, .vp9, .mp3, .ac3, .eac3: .other(codec, [])
        default: nil
        }
    }

    // MARK: Frames

    private mutating func addFrame(
        _ index: Int, _ packet: FLVPacket, _ payload: [UInt8], decodingTime: TimeSpan, presentationTime: TimeSpan,
        _ emit: (Output) -> Void
    ) {
        let id = tracks[index].id
        if tracks[index].configuration == nil, let implicit = Self.implicitConfiguration(of: packet.codec) {
            tracks[index].configuration = implicit
            emit(.configuration(id, implicit))
        }
        guard let configuration = tracks[index].configuration else {
            droppedCount += 1
            return warn(.missingConfiguration(id), emit)
        }
        guard let frame = Self.frame(payload, packet, configuration) else {
            droppedCount += 1
            return warn(.malformedFrame(id), emit)
        }
        // Only the decoding time is monotonic.
        let step = tracks[index].lastDecodingTime.map { decodingTime - $0 } ?? .zero
        let isDiscontinuity = step < .zero || step > Self.maximumStep
        tracks[index].lastDecodingTime = decodingTime
        if isDiscontinuity { warn(.discontinuity(id), emit) }
        emit(
            .accessUnit(
                RTMPAccessUnit(
                    track: id, codec: packet.codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
                    decodingTime: decodingTime, presentationTime: presentationTime,
                    isDiscontinuity: isDiscontinuity)))
    }

    /// Returns the data of a frame for RTP, and whether it is a key frame. Returns nil if it is malformed.
    private static func frame(
        _ payload: [UInt8], _ packet: FLVPacket, _ configuration: RTMPCodecConfiguration
    ) -> (bytes: [UInt8], isKeyFrame: Bool)? {
        switch configuration {
        case .h264(let configuration):
            AnnexBConversion(lengthSize: configuration.lengthSize, parameterSets: configuration.parameterSets)
                .convert(payload, packet.body) { header in
                    switch header & H264NALUnit.typeMask {
                    case H264NALUnit.idrSlice: .randomAccess
                    case H264NALUnit.sequenceParameterSet: .sequenceParameterSet
                    case H264NALUnit.accessUnitDelimiter: .delimiter
                    default: .other
                    }
                }
        case .hevc(let configuration):
            AnnexBConversion(lengthSize: configuration.lengthSize, parameterSets: configuration.parameterSets)
                .convert(payload, packet.body) { header in
                    switch HEVCUnit.type(header) {
                    case HEVCUnit.randomAccessPoints: .randomAccess
                    case HEVCUnit.sequenceParameterSet: .sequenceParameterSet
                    case HEVCUnit.accessUnitDelimiter: .delimiter
                    default: .other
                    }
                }
        case .av1(let configuration):
            payload.withByteView { configuration.units(of: $0.extracting(packet.body)) }
        case .other(.vp9, _):
            isVP9KeyFrame(payload[packet.body.lowerBound]).map { (Array(payload[packet.body]), $0) }
        case .aac, .opus, .other: (Array(payload[packet.body]), packet.isKeyFrame)
        }
    }

    /// Returns whether the first byte of a frame of VP9 begins a key frame (VP9 bitstream specification, section 6.2); nil
    /// if it begins no frame.
    private static func isVP9KeyFrame(_ first: UInt8) -> Bool? {
        guard first >> 6 == 2 else { return nil }
        // After two bits of the profile, of which 3 has a reserved bit: `show_existing_frame` and `frame_type`.
        return first & (first & 0x30 == 0x30 ? 0x06 : 0x0C) == 0
    }
}
