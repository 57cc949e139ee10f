import CFFmpeg
import PCastMedia

/// The shape of a pixel, its width by its height (ITU-T H.264, section E.2.1, `aspect_ratio_idc`).
struct SampleAspectRatio: Hashable, Sendable {
    var width: Int32
    var height: Int32

    /// Returns nil for what is unspecified, and for shapes that no camera or encoder makes: more than four to one.
    init?(_ width: Int32, _ height: Int32) {
        guard width > 0, height > 0, width <= 1 << 16, height <= 1 << 16, width <= 4 * height, height <= 4 * width
        else {
            return nil
        }
        (self.width, self.height) = (width, height)
    }

    /// The size at which frames of these pixels are shown with square ones: the longer side of a pixel grows, so that nothing
    /// is lost. Both sides are even. Frames that would become larger than any decoder takes stay as they are.
    func squareDimensions(of dimensions: Dimensions) -> Dimensions {
        let ratio = Double(width) / Double(height)
        // Ratios such as 1216:1215 are rounded sizes, and no shape of pixels.
        guard abs(ratio - 1) > 0.005 else { return dimensions }
        func even(_ length: Double) -> Int { max(2, Int((length / 2).rounded()) * 2) }
        var square = dimensions
        if ratio > 1 {
            square.width = even(Double(dimensions.width) * ratio)
        } else {
            square.height = even(Double(dimensions.height) / ratio)
        }
        return square.width <= 8_192 && square.height <= 8_192 ? square : dimensions
    }
}

/// What a track declares of how its coded frames are presented: their rotation, and the shape of their pixels.
struct FrameGeometry: Hashable, Sendable {
    var mirroring: PictureMirroring = []
    /// After mirroring.
    var turn = PictureTurn.none
    /// nil where nothing is declared.
    var sampleAspectRatio: SampleAspectRatio?

    /// Frames are shown as they are coded, unless they say otherwise themselves.
    init() {}

    /// Reads the display matrix (ISO/IEC 14496-12, section 8.3.2) and the aspect ratio that the container declares, or else
    /// the codec's.
    init(_ stream: UnsafeMutablePointer<AVStream>) {
        if let matrix = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, nil) {
            matrix.withMemoryRebound(to: Int32.self, capacity: 9) { takeMatrix($0) }
        }
        for ratio in [stream.pointee.sample_aspect_ratio, stream.pointee.codecpar.pointee.sample_aspect_ratio]
        where sampleAspectRatio == nil {
            sampleAspectRatio = SampleAspectRatio(ratio.num, ratio.den)
        }
    }

    /// Whether frames are presented otherwise than they are coded.
    func changes(_ dimensions: Dimensions) -> Bool {
        isTurned || sampleAspectRatio.map { $0.squareDimensions(of: dimensions) != dimensions } ?? false
    }

    var isTurned: Bool { turn != .none || !mirroring.isEmpty }

    /// The size of the presented frames.
    func presented(_ dimensions: Dimensions) -> Dimensions {
        let square = sampleAspectRatio?.squareDimensions(of: dimensions) ?? dimensions
        return turn.exchangesSides ? Dimensions(width: square.height, height: square.width) : square
    }

    /// Takes over what a decoded picture says of itself: a matrix of its own, and the aspect ratio where the container has
    /// none.
    func refined(by picture: UnsafeMutablePointer<AVFrame>) -> FrameGeometry {
        var geometry = self
        if let data = av_frame_get_side_data(picture, AV_FRAME_DATA_DISPLAYMATRIX), data.pointee.size >= 36 {
            data.pointee.data.withMemoryRebound(to: Int32.self, capacity: 9) { geometry.takeMatrix($0) }
        }
        let ratio = picture.pointee.sample_aspect_ratio
        geometry.sampleAspectRatio = geometry.sampleAspectRatio ?? SampleAspectRatio(ratio.num, ratio.den)
        return geometry
    }

    /// x' = ax + cy, y' = bx + dy, with y from above to below. Angles between are brought to the nearest right one.
    private mutating func takeMatrix(_ matrix: UnsafePointer<Int32>) {
        var (a, b) = (Double(matrix[0]), Double(matrix[1]))
        let (c, d) = (Double(matrix[3]), Double(matrix[4]))
        guard a * d - b * c != 0 else { return }
        mirroring = a * d - b * c < 0 ? .horizontal : []
        if !mirroring.isEmpty { (a, b) = (-a, -b) }
        turn = abs(a) >= abs(b) ? (a > 0 ? .none : .half) : (b > 0 ? .clockwise90 : .clockwise270)
    }
}
