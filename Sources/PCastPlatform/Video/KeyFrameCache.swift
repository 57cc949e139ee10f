import PCastCore
import PCastSFU

/// The last key frame of each H.264 layer of a stream, for still images.
struct KeyFrameCache: Sendable {
    private struct KeyFrame {
        /// The access unit with its parameter sets, in Annex B format.
        var bytes: [UInt8]
        var captureTime: WallTime
    }

    /// The maximum size of a key frame, in bytes. Larger ones are not kept.
    static let sizeLimit = 4 << 20
    /// The time after which the key frame of a layer is too old, if another layer has a newer one.
    static let maximumAge = TimeSpan.seconds(10 as Int64)

    private var frames: [Int: KeyFrame] = [:]
    /// The parameter sets of each layer that arrived last. A publisher may send them only once.
    private var parameterSets: [Int: [UInt8]] = [:]

    /// Records a unit if it is a key frame.
    mutating func note(_ unit: PublishedUnit) {
        guard let layer = unit.layer, unit.isKeyFrame, unit.codec == .h264 else { return }
        let sets = Self.parameterSets(in: unit.bytes)
        if !sets.isEmpty { parameterSets[layer] = sets }
        guard unit.bytes.count <= Self.sizeLimit else { return }
        let missing = sets.isEmpty ? parameterSets[layer] ?? [] : []
        frames[layer] = KeyFrame(
            bytes: missing.isEmpty ? unit.bytes : missing + unit.bytes, captureTime: unit.captureTime)
    }

    /// Removes the key frame of a layer that the publisher does not send any more.
    mutating func remove(_ layer: Int) {
        frames[layer] = nil
        parameterSets[layer] = nil
    }

    /// Removes all key frames.
    mutating func removeAll() { self = KeyFrameCache() }

    /// The largest of the recent key frames, which is that of the best layer; nil if there is none.
    var best: [UInt8]? {
        guard let newest = frames.values.map(\.captureTime).max() else { return nil }
        let recent = frames.values.filter { newest - $0.captureTime <= Self.maximumAge }
        return recent.max { $0.bytes.count < $1.bytes.count }?.bytes
    }

    /// Returns the parameter sets of an access unit in Annex B format; empty if it has none.
    private static func parameterSets(in accessUnit: [UInt8]) -> [UInt8] {
        accessUnit.withByteView { source in
            var sets: [UInt8] = []
            var reader = AnnexBReader(source)
            while let unit = reader.next() {
                switch source[unit.lowerBound] & H264NALUnit.typeMask {
                case H264NALUnit.sequenceParameterSet, H264NALUnit.pictureParameterSet:
                    sets += [0, 0, 0, 1]
                    sets += source[unit]
                default: continue
                }
            }
            return sets
        }
    }
}
