package import PCastCore

/// A track of a published stream. Tracks of each kind are numbered separately.
package struct RTMPTrackID: Hashable, Sendable, CustomStringConvertible {
    /// Whether it is a video or an audio track.
    package let mediaType: MediaType
    /// The number, 0 for the default track. It says nothing about quality or order.
    package let number: UInt8

    /// Creates an ID.
    package init(_ mediaType: MediaType, _ number: UInt8 = 0) {
        self.mediaType = mediaType
        self.number = number
    }

    /// The kind and the number, such as `video track 0`.
    package var description: String { "\(mediaType.rawValue) track \(number)" }
}

/// The configuration of a track's codec.
package enum RTMPCodecConfiguration: Hashable, Sendable {
    /// H.264 with its parameter sets.
    case h264(AVCDecoderConfiguration)
    /// H.265 with its parameter sets.
    case hevc(HEVCDecoderConfiguration)
    /// AV1 with its sequence header.
    case av1(AV1DecoderConfiguration)
    /// AAC.
    case aac(AudioSpecificConfiguration)
    /// Opus.
    case opus(OpusIdentificationHeader)
    /// The record of another codec; empty for a codec without configuration.
    case other(FourCC, [UInt8])

    /// The codec.
    package var codec: FourCC {
        switch self {
        case .h264: .h264
        case .hevc: .hevc
        case .av1: .av1
        case .aac: .aac
        case .opus: .opus
        case .other(let codec, _): codec
        }
    }
}

/// A frame of a published stream.
package struct RTMPAccessUnit: Hashable, Sendable {
    /// The track.
    package let track: RTMPTrackID
    /// The codec.
    package let codec: FourCC
    /// The encoded data. H.264 and H.265: an access unit in Annex B format, with parameter sets before each frame at
    /// which decoding can begin. AV1: a temporal unit without delimiters, with the sequence header before each key frame.
    /// Other codecs: as in the container, AAC without ADTS.
    package let bytes: [UInt8]
    /// Whether decoding can begin with the frame. It is always true for audio. For H.264, H.265, AV1 and VP9 it depends
    /// on the bitstream, for other codecs on the mark of the encoder.
    package let isKeyFrame: Bool
    /// The time of decoding from an origin that all tracks of the publisher share. It is usually the time since the
    /// encoder started, does not wrap, and may go back if the encoder's clock does.
    package let decodingTime: TimeSpan
    /// The time of presentation from the same origin. It differs from the decoding time for video with B-frames.
    package let presentationTime: TimeSpan
    /// Whether the decoding time went back or jumped by more than ``RTMPMediaDemuxer/maximumStep`` since the previous
    /// frame of the track.
    package let isDiscontinuity: Bool

    /// Creates an access unit.
    package init(
        track: RTMPTrackID, codec: FourCC, bytes: [UInt8], isKeyFrame: Bool, decodingTime: TimeSpan,
        presentationTime: TimeSpan, isDiscontinuity: Bool
    ) {
        self.track = track
        self.codec = codec
        self.bytes = bytes
        self.isKeyFrame = isKeyFrame
        self.decodingTime = decodingTime
        self.presentationTime = presentationTime
        self.isDiscontinuity = isDiscontinuity
    }
}

extension RTMPAccessUnit {
    /// Returns the frame for a packetizer of RTP.
    ///
    /// - Parameter captureTime: The UTC time of capture; nil if unknown.
    /// - Returns: The frame; nil for a codec without a packetizer.
    package func encodedFrame(captureTime: WallTime?) -> EncodedFrame? {
        let codec: Codec
        switch self.codec {
        case .h264: codec = .h264
        case .hevc: codec = .h265
        case .av1: codec = .av1
        case .vp9: codec = .vp9
        case .vp8: codec = .vp8
        case .opus: codec = .opus
        default: return nil
        }
        let timestamp = MediaTime(ticks: codec.clockRate.ticks(in: presentationTime), rate: codec.clockRate)
        return EncodedFrame(
            codec: codec, bytes: bytes, isKeyFrame: isKeyFrame, timestamp: timestamp, captureTime: captureTime)
    }
}

/// A problem of a published stream with which it continues. Each is reported once per connection.
package enum RTMPWarning: Hashable, Sendable {
    /// The codec of a track is not supported, so that its frames are dropped.
    case unsupportedCodec(MediaType, String)
    /// Frames arrive before the configuration of their codec, and are dropped.
    case missingConfiguration(RTMPTrackID)
    /// A codec configuration cannot be parsed.
    case malformedConfiguration(RTMPTrackID)
    /// A frame cannot be parsed, and is dropped.
    case malformedFrame(RTMPTrackID)
    /// A message of audio or video cannot be parsed, and is dropped.
    case malformedMessage(MediaType)
    /// The timestamps of a track go back or jump.
    case discontinuity(RTMPTrackID)
    /// There are more tracks of a kind than ``RTMPMediaDemuxer/maximumTrackCount``. The frames of the others are
    /// dropped.
    case tooManyTracks(MediaType)
    /// Metadata cannot be parsed, and is ignored.
    case malformedMetadata
}

extension RTMPWarning: CustomStringConvertible {
    /// The message for a person: the problem, and the way to correct it.
    package var description: String {
        switch self {
        case .unsupportedCodec(.video, let codec):
            "The video codec \(codec) is not supported; use H.264, H.265, AV1, VP9 or VP8."
        case .unsupportedCodec(.audio, let codec): "The audio codec \(codec) is not supported; use AAC or Opus."
        case .missingConfiguration(let track):
            "The \(track) has no codec configuration, so its frames are dropped; send the sequence header first."
        case .malformedConfiguration(let track):
            "The codec configuration of \(track) is malformed; check the encoder."
        case .malformedFrame(let track): "A frame of \(track) is malformed and was dropped; check the encoder."
        case .malformedMessage(let type):
            "A message of \(type.rawValue) is malformed and was dropped; check the encoder."
        case .discontinuity(let track): "The timestamps of \(track) go back or jump; check the clock of the encoder."
        case .tooManyTracks(let type):
            "The stream has more than \(RTMPMediaDemuxer.maximumTrackCount) \(type.rawValue) tracks; send fewer."
        case .malformedMetadata: "The metadata is malformed and was ignored; check the encoder."
        }
    }
}
