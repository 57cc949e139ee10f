/// A layer that a rendition worker makes of the video of a stream with one layer. Names, heights and bit rates of lower
/// layers are those of Phenix's ladder `phenix-2020`.
package struct Rendition: Hashable, Sendable {
    /// The name of the layer.
    package let name: String
    /// The length of the shorter side in pixels; 0 for the size of the source.
    package let height: Int
    /// The target bit rate; 0 if it depends on the size of the source.
    package let bitrate: Bitrate

    private init(_ name: String, _ height: Int, _ kilobits: Int64) {
        (self.name, self.height, bitrate) = (name, height, .kilobits(kilobits))
    }

    /// The rendition in the size of the source. It has key frames on request and no B-frames, for viewers of a source that
    /// lacks the former or has the latter.
    package static let transcoded = Rendition("transcoded", 0, 0)
    /// The renditions for narrow links, best first.
    package static let ladder = [
        Rendition("hd", 720, 1_600), Rendition("sd", 480, 830), Rendition("ld", 360, 520), Rendition("vld", 240, 350),
        Rendition("vvld", 144, 192), Rendition("uld", 144, 80),
    ]
    /// All renditions in the order of their layers, which follow that of the publisher. With it, they are eight, which a
    /// byte has bits for.
    package static let all = [transcoded] + ladder
    /// The layer of ``transcoded``.
    package static let transcodedLayer = 1

    /// Returns the codec of the renditions of a source. Of VP9, AV1 and H.265, they are H.264, which every viewer decodes
    /// and which costs least to encode.
    package static func codec(of source: Codec) -> Codec {
        switch source {
        case .h264, .vp8, .opus: source
        case .vp9, .av1, .h265: .h264
        }
    }

    /// The bit rate of a source must exceed that of its rendition by this percentage, otherwise the rendition saves too
    /// little.
    private static let leastRatePercent: Int64 = 133

    /// Returns whether a rendition of the ladder is worth making of a source: it is not larger, and clearly needs less
    /// bandwidth.
    ///
    /// - Parameters:
    ///   - dimensions: The size of the source.
    ///   - source: The bit rate of the source.
    ///   - isMade: Whether it is being made, which is not stopped for a small change of the source's bit rate.
    /// - Returns: Whether it is worth making.
    package func isUseful(below dimensions: Dimensions, source: Bitrate, isMade: Bool) -> Bool {
        let percent = isMade ? 100 : Self.leastRatePercent
        return height > 0 && min(dimensions.width, dimensions.height) >= height
            && source.bitsPerSecond * 100 >= bitrate.bitsPerSecond * percent
    }

    /// Returns the target bit rate for a size of the source.
    package func bitrate(of source: Dimensions) -> Bitrate {
        bitrate.bitsPerSecond > 0 ? bitrate : Self.bitrate(of: source)
    }

    /// Returns the size of the rendition of a source, with its aspect ratio and even sides.
    package func dimensions(of source: Dimensions) -> Dimensions {
        Self.dimensions(of: source, height: height)
    }

    /// Returns the bit rate of the ladder for video of a size: that of the lowest step that is as high.
    package static func bitrate(of dimensions: Dimensions) -> Bitrate {
        switch min(dimensions.width, dimensions.height) {
        case ...144: .kilobits(192)
        case ...240: .kilobits(350)
        case ...360: .kilobits(520)
        case ...480: .kilobits(830)
        case ...720: .kilobits(1_600)
        case ...1_080: .kilobits(3_000)
        default: .kilobits(8_500)
        }
    }

    /// Returns the size of a source that is reduced to a length of its shorter side; 0 keeps it. The sides are even because
    /// of 4:2:0. A source that is not larger keeps its size, rounded down to even sides.
    package static func dimensions(of source: Dimensions, height: Int) -> Dimensions {
        let shorter = min(source.width, source.height)
        let even = { (length: Int) in max(length & ~1, 2) }
        guard height > 0, shorter > height else {
            return Dimensions(width: even(source.width), height: even(source.height))
        }
        let scaled = { (length: Int) in even((length * height + shorter / 2) / shorter) }
        return Dimensions(width: scaled(source.width), height: scaled(source.height))
    }
}
