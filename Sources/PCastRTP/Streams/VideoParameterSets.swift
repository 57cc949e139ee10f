import PCastCore

/// The parameter sets of a video, of which H.264 and H.265 each have a collection. The one of the other codec is empty.
package struct VideoParameterSets: Sendable {
    /// Those of H.264.
    var h264 = H264ParameterSets()
    /// Those of H.265.
    var h265 = H265ParameterSets()

    /// Creates empty collections.
    package init() {}

    /// Stores a parameter set, which replaces the one with the same ID.
    mutating func remember(_ unit: Span<UInt8>, isH265: Bool, order: Int64) {
        if isH265 { h265.remember(unit, order: order) } else { h264.remember(unit, order: order) }
    }

    /// Returns whether a picture parameter set and those that it refers to are present.
    func contains(_ pictureID: UInt32, isH265: Bool) -> Bool {
        isH265 ? h265.contains(pictureID) : h264.contains(pictureID)
    }

    /// Returns whether the sets that a slice needs are present. If its picture parameter set is unknown, it needs at
    /// least one of each kind.
    func suffice(for pictureID: UInt32?, isH265: Bool) -> Bool {
        guard let pictureID else { return isH265 ? h265.isComplete : h264.isComplete }
        return contains(pictureID, isH265: isH265)
    }

    /// Returns the format of the video that a picture parameter set refers to.
    func video(_ pictureID: UInt32?, isH265: Bool) -> CodecParameters? {
        isH265 ? h265.video(pictureID) : h264.video(pictureID)
    }

    /// Returns RTP payloads that contain all sets.
    func payloads(aggregates: Bool, isH265: Bool) -> [[UInt8]] {
        isH265 ? h265.payloads() : h264.payloads(aggregates: aggregates)
    }
}

/// Iterates over the NAL units of an RTP payload of H.264 or H.265.
struct VideoUnitReader {
    /// A NAL unit or a fragment of one.
    struct Unit {
        /// The kind of a unit, as far as key frames depend on it.
        enum Kind {
            /// A slice of an IDR picture, or of another random access point of H.265.
            case randomAccess
            case parameterSet
            case delimiter
            case other
        }

        /// The kind of the NAL unit.
        let kind: Kind
        /// The type of the NAL unit.
        let type: UInt8
        /// Whether it is a parameter set that a frame can only begin with: a sequence parameter set of H.264, or a
        /// video parameter set.
        let isFirstSet: Bool
        /// The range in the payload: of a whole unit with its header, or of a fragment without headers.
        let range: Range<Int>
        /// Whether the unit begins here.
        let isStart: Bool
        /// Whether it is a whole unit.
        let isWhole: Bool
        /// The offset of the data after the header.
        let body: Int

        init(_ unit: H264PayloadReader.Unit) {
            kind =
                switch unit.type {
                case H264NALUnit.idrSlice: .randomAccess
                case H264NALUnit.sequenceParameterSet, H264NALUnit.pictureParameterSet: .parameterSet
                case H264NALUnit.accessUnitDelimiter: .delimiter
                default: .other
                }
            type = unit.type
            isFirstSet = type == H264NALUnit.sequenceParameterSet
            (range, isStart, isWhole, body) = (unit.range, unit.isStart, unit.isWhole, unit.body)
        }

        init(_ unit: H265PayloadReader.Unit) {
            kind =
                switch unit.type {
                // Decoders of the base layer ignore the others.
                case _ where !unit.isBaseLayer: .other
                case H265NALUnit.randomAccess: .randomAccess
                case H265NALUnit.videoParameterSet...H265NALUnit.pictureParameterSet: .parameterSet
                case H265NALUnit.accessUnitDelimiter: .delimiter
                default: .other
                }
            type = unit.type
            isFirstSet = type == H265NALUnit.videoParameterSet && unit.isBaseLayer
            (range, isStart, isWhole, body) = (unit.range, unit.isStart, unit.isWhole, unit.body)
        }

        /// The ID of a parameter set, and of the one that it refers to.
        struct SetID {
            enum Kind {
                case video
                case sequence
                case picture
            }

            let kind: Kind
            let id: UInt32
            let parentID: UInt32
        }

        /// Returns the ID of a whole parameter set; nil if it is invalid.
        func setID(in payload: Span<UInt8>, isH265: Bool) -> SetID? {
            let unit = payload.extracting(range)
            if isH265 {
                guard let set = H265ParameterSetID(unit) else { return nil }
                let kind: SetID.Kind =
                    switch set.type {
                    case H265NALUnit.videoParameterSet: .video
                    case H265NALUnit.sequenceParameterSet: .sequence
                    default: .picture
                    }
                return SetID(kind: kind, id: set.id, parentID: set.parentID)
            }
            guard let set = H264ParameterSetID(unit) else { return nil }
            return SetID(kind: set.isSequence ? .sequence : .picture, id: set.id, parentID: set.sequenceID)
        }
    }

    private let isH265: Bool
    private var h264 = H264PayloadReader()
    private var h265 = H265PayloadReader()

    init(isH265: Bool) { self.isH265 = isH265 }

    /// Returns the next unit; nil after the last.
    mutating func next(in payload: Span<UInt8>) -> Unit? {
        isH265 ? h265.next(in: payload).map { Unit($0) } : h264.next(in: payload).map { Unit($0) }
    }

    /// Returns the header of a fragmented unit of a type from the payload of a fragment.
    static func header(ofFragmented type: UInt8, isH265: Bool, _ payload: ByteView) -> [UInt8] {
        isH265
            ? [H265NALUnit.header(payload[0], type: type), payload[1]]
            : [payload[0] & ~H264NALUnit.typeMask | type]
    }
}
