import CFFmpeg
import PCastMedia

/// One medium of a file; valid as long as its input.
struct MediaTrack {
    let index: Int32
    let stream: UnsafeMutablePointer<AVStream>
    let codec: UnsafePointer<AVCodec>

    var parameters: UnsafeMutablePointer<AVCodecParameters> { stream.pointee.codecpar }
    var timeBase: AVRational { stream.pointee.time_base }

    /// The size of its pictures as they are coded, made even.
    var codedDimensions: Dimensions {
        Dimensions(width: Int(parameters.pointee.width) & ~1, height: Int(parameters.pointee.height) & ~1)
    }

    /// The size of its pictures as they are presented: upright, with square pixels.
    var dimensions: Dimensions { geometry.presented(codedDimensions) }

    var geometry: FrameGeometry { FrameGeometry(stream) }

    /// What stands before its packets: parameter sets, in a container's own form.
    var header: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: parameters.pointee.extradata, count: Int(max(0, parameters.pointee.extradata_size)))
    }

    /// Microseconds from the input's beginning; nil when the timestamp is none.
    func moment(_ timestamp: Int64, of input: MediaInput) -> Int64? {
        guard timestamp != cffmpeg_no_timestamp() else { return nil }
        return av_rescale_q(timestamp, timeBase, cffmpeg_time_base()) - input.origin
    }

    /// A decoder of it; nil when its header makes no sense.
    func decoder() throws(CodecError) -> AVCodecContextHolder? {
        try AVCodecContextHolder.decoder(codec, parameters, timeBase: timeBase)
    }
}
