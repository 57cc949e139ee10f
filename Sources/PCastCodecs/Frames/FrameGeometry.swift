import CFFmpeg
import PCastCore

/// The presentation of a track's frames: rotation, mirroring, and aspect ratio.
struct FrameGeometry: Hashable, Sendable {
    var mirroring: FrameMirroring = []
    /// The rotation after mirroring.
    var turn = FrameRotation.none
    /// The sample aspect ratio; nil if it is not declared.
    var sampleAspectRatio: SampleAspectRatio?

    /// Creates a geometry without changes. A frame's own side data may add some.
    init() {}

    /// Reads the display matrix (ISO/IEC 14496-12, section 8.3.2) and the aspect ratio. The ratio of the container
    /// has priority over that of the codec.
    init(_ stream: UnsafeMutablePointer<AVStream>) {
        if let matrix = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, nil) {
            matrix.withMemoryRebound(to: Int32.self, capacity: 9) { takeMatrix($0) }
        }
        for ratio in [stream.pointee.sample_aspect_ratio, stream.pointee.codecpar.pointee.sample_aspect_ratio]
        where sampleAspectRatio == nil {
            sampleAspectRatio = SampleAspectRatio(ratio.num, ratio.den)
        }
    }

    /// Returns whether frames of this size are presented differently from how they are coded.
    func changes(_ dimensions: Dimensions) -> Bool {
        isRotated || sampleAspectRatio.map { $0.squareDimensions(of: dimensions) != dimensions } ?? false
    }

    var isRotated: Bool { turn != .none || !mirroring.isEmpty }

    /// Returns the presented size of frames with this coded size.
    func presented(_ dimensions: Dimensions) -> Dimensions {
        let square = sampleAspectRatio?.squareDimensions(of: dimensions) ?? dimensions
        return turn.exchangesSides ? Dimensions(width: square.height, height: square.width) : square
    }

    /// Returns the geometry with a decoded frame's own display matrix, and with its aspect ratio if the container
    /// declares none.
    func refined(by frame: UnsafeMutablePointer<AVFrame>) -> FrameGeometry {
        var geometry = self
        if let data = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX), data.pointee.size >= 36 {
            data.pointee.data.withMemoryRebound(to: Int32.self, capacity: 9) { geometry.takeMatrix($0) }
        }
        let ratio = frame.pointee.sample_aspect_ratio
        geometry.sampleAspectRatio = geometry.sampleAspectRatio ?? SampleAspectRatio(ratio.num, ratio.den)
        return geometry
    }

    /// Reads a matrix: x' = ax + cy, y' = bx + dy, with y downwards. Other angles are rounded to a multiple of 90°.
    private mutating func takeMatrix(_ matrix: UnsafePointer<Int32>) {
        var (a, b) = (Double(matrix[0]), Double(matrix[1]))
        let (c, d) = (Double(matrix[3]), Double(matrix[4]))
        guard a * d - b * c != 0 else { return }
        mirroring = a * d - b * c < 0 ? .horizontal : []
        if !mirroring.isEmpty { (a, b) = (-a, -b) }
        turn = abs(a) >= abs(b) ? (a > 0 ? .none : .half) : (b > 0 ? .clockwise90 : .clockwise270)
    }
}
