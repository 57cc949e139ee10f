import CFFmpeg
import PCastCore

/// A track of an input. It is valid as long as the input.
struct MediaTrack {
    let index: Int32
    let stream: UnsafeMutablePointer<AVStream>
    let codec: UnsafePointer<AVCodec>

    var parameters: UnsafeMutablePointer<AVCodecParameters> { stream.pointee.codecpar }
    var timeBase: AVRational { stream.pointee.time_base }

    /// The encoded size of the frames, rounded down to even numbers.
    var codedDimensions: Dimensions {
        Dimensions(width: Int(parameters.pointee.width) & ~1, height: Int(parameters.pointee.height) & ~1)
    }

    /// The presented size of the frames: upright, with square pixels.
    var dimensions: Dimensions { geometry.presented(codedDimensions) }

    var geometry: FrameGeometry { FrameGeometry(stream) }

    /// The header that precedes the packets, such as parameter sets, in the container's own form.
    var header: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: parameters.pointee.extradata, count: Int(max(0, parameters.pointee.extradata_size)))
    }

    /// Converts a timestamp to microseconds since the start of the input. Returns nil for no timestamp.
    func moment(_ timestamp: Int64, of input: MediaInput) -> Int64? {
        guard timestamp != cffmpeg_no_timestamp() else { return nil }
        return av_rescale_q(timestamp, timeBase, cffmpeg_time_base()) - input.origin
    }

    /// Returns a decoder for the track; nil if its header is invalid.
    func decoder() throws(CodecError) -> AVCodecContextHolder? {
        try AVCodecContextHolder.decoder(codec, parameters, timeBase: timeBase)
    }
}
