package import PCastCore

/// A part that was published, with what a recording needs to know of its segment and rendition.
package struct PublishedPart: Sendable {
    /// The name of the rendition.
    package let rendition: String
    /// The format of the segment.
    package let format: CMAFFormat
    /// The frame rate of the rendition; nil for audio, and before it is known.
    package let frameRate: Double?
    /// The media sequence number of the segment.
    package let segment: Int64
    /// The index of the part in the segment.
    package let index: Int
    /// The capture time of the beginning of the segment.
    package let segmentStart: WallTime
    /// The discontinuity sequence number of the segment.
    package let discontinuity: Int64
    /// The number of the initialization segment.
    package let initialization: Int
    /// The initialization segment.
    package let initializationBytes: [UInt8]
    /// The media and the duration.
    package let part: PackagedPart

    /// Creates a part.
    package init(
        rendition: String, format: CMAFFormat, frameRate: Double?, segment: Int64, index: Int, segmentStart: WallTime,
        discontinuity: Int64, initialization: Int, initializationBytes: [UInt8], part: PackagedPart
    ) {
        self.rendition = rendition
        self.format = format
        self.frameRate = frameRate
        self.segment = segment
        self.index = index
        self.segmentStart = segmentStart
        self.discontinuity = discontinuity
        self.initialization = initialization
        self.initializationBytes = initializationBytes
        self.part = part
    }
}

extension RenditionPackager {
    /// Returns the parts that were published since the last call.
    mutating func takeParts() -> [PublishedPart] {
        guard let format else { return [] }
        var published: [PublishedPart] = []
        let count = segments.reversed().prefix { $0.number >= nextTaken.segment }.count
        for segment in segments.suffix(count) + (open.map { [$0] } ?? []) {
            let initialization: Int? = segment.initialization
            guard let initialization, let initializationBytes = initializations[initialization] else { continue }
            let first = segment.number == nextTaken.segment ? nextTaken.part : 0
            for index in segment.parts.indices.dropFirst(first) {
                published.append(
                    PublishedPart(
                        rendition: description.name, format: format, frameRate: frameRate, segment: segment.number,
                        index: index, segmentStart: segment.wallTime, discontinuity: segment.discontinuity,
                        initialization: initialization, initializationBytes: initializationBytes,
                        part: segment.parts[index]))
            }
            nextTaken = (segment.number, segment.parts.count)
        }
        return published
    }
}

extension PackagedFile {
    /// Returns the name of the file, relative to the playlists, with the folder of its rendition.
    package func path(of rendition: String, instance: String) -> String {
        let names = FileNames(instance: instance, rendition: rendition)
        return switch self {
        case .initialization(let number): names.initialization(number)
        case .segment(let number): names.segment(number)
        case .part(let number, let index): names.part(number, index)
        case .key(let number): names.key(number)
        }
    }
}
