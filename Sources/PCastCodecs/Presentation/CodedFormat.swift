import CFFmpeg

/// How a track is coded, apart from what it is read from.
final class CodedFormat: @unchecked Sendable {  // never changed
    let medium: PresentationMedium
    let parameters: UnsafeMutablePointer<AVCodecParameters>
    /// What the container declares of how frames are shown.
    let geometry: FrameGeometry

    /// - Returns: nil for what is of no use here.
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

    /// Whether who decodes the one goes on with the other.
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

    /// Times of packets and pictures here: microseconds of the presentation.
    static let timeBase = cffmpeg_time_base()

    /// A decoder whose packets have times in ``timeBase``; nil where there is none for it.
    func decoder() throws(CodecError) -> AVCodecContextHolder? {
        guard let codec = avcodec_find_decoder(parameters.pointee.codec_id) else { return nil }
        return try .decoder(codec, parameters, timeBase: Self.timeBase, threads: threads)
    }

    /// Small pictures, and sound, are not worth a second thread; what is known to be neither has at most four.
    private var threads: Int32 {
        guard medium == .picture else { return 1 }
        let (width, height) = (Int(parameters.pointee.width), Int(parameters.pointee.height))
        guard width == 0 || width * height >= 640 * 480 else { return 1 }
        return min(max(av_cpu_count(), 1), 4)
    }
}
