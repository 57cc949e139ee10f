import CFFmpeg

/// The encoding of a track, independent of the input that it came from.
final class CodedFormat: @unchecked Sendable {  // immutable
    let medium: PresentationMedium
    let parameters: UnsafeMutablePointer<AVCodecParameters>
    /// The rotation, mirroring and aspect ratio that the container declares.
    let geometry: FrameGeometry

    /// Copies the parameters of a stream. Returns nil if its media type is not used.
    init?(_ stream: UnsafeMutablePointer<AVStream>) {
        guard let source = stream.pointee.codecpar, let medium = PresentationMedium(source) else {
            return nil
        }
        guard let parameters = avcodec_parameters_alloc(),
            avcodec_parameters_copy(parameters, source) >= 0
        else {
            fatalError("out of memory for a track")
        }
        self.medium = medium
        geometry = FrameGeometry(stream)
        self.parameters = parameters
    }

    deinit {
        var parameters: UnsafeMutablePointer<AVCodecParameters>? = parameters
        avcodec_parameters_free(&parameters)
    }

    private var header: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: parameters.pointee.extradata, count: Int(max(0, parameters.pointee.extradata_size)))
    }

    /// Returns whether a decoder of one format can continue with the other.
    func isAlike(_ other: CodedFormat) -> Bool {
        self === other
            || parameters.pointee.codec_id == other.parameters.pointee.codec_id && geometry == other.geometry
                && parameters.pointee.color_space == other.parameters.pointee.color_space
                && parameters.pointee.color_range == other.parameters.pointee.color_range
                && header.elementsEqual(other.header)
                && parameters.pointee.sample_rate == other.parameters.pointee.sample_rate
                && parameters.pointee.ch_layout.nb_channels
                    == other.parameters.pointee.ch_layout.nb_channels
    }

    /// The time base of packets and frames: microseconds of the presentation.
    static let timeBase = cffmpeg_time_base()

    /// Returns a decoder whose packets have times in ``timeBase``; nil if there is none.
    func decoder() throws(CodecError) -> AVCodecContextHolder? {
        guard let codec = avcodec_find_decoder(parameters.pointee.codec_id) else { return nil }
        return try .decoder(codec, parameters, timeBase: Self.timeBase, threads: threads)
    }

    /// The number of decoder threads. Small frames and audio do not benefit from a second thread; otherwise there are
    /// at most four.
    private var threads: Int32 {
        guard medium == .video else { return 1 }
        let (width, height) = (Int(parameters.pointee.width), Int(parameters.pointee.height))
        guard width == 0 || width * height >= 640 * 480 else { return 1 }
        return min(max(av_cpu_count(), 1), 4)
    }
}
