internal import PCastCore

/// A video frame in the form that the container stores, with the format that its headers state; or a packet of audio.
struct CodedSample: Sendable {
    /// The sample, whose times are set later.
    let sample: CMAFSample
    /// The format, of a frame with which decoding can start; nil for the others.
    let format: CMAFFormat?
    /// The kind of a leading frame of H.265; nil for the others.
    var leading: LeadingFrame?

    /// A frame that precedes the random access point before it in presentation order. Only leading frames may refer to it
    /// (ITU-T H.265, section 7.4.2.2).
    enum LeadingFrame: Sendable {
        /// It can be decoded if decoding starts at that point (RADL).
        case decodable
        /// It cannot be decoded then, because it also refers to earlier frames (RASL).
        case skipped
    }

    /// Converts a frame. Returns nil if it has no slice, if its codec has no sample entry here, or if decoding could start
    /// with it but its format is unknown.
    ///
    /// - Parameters:
    ///   - unit: The frame in the form of `EncodedFrame`.
    ///   - known: The format of the frames before; nil before the first.
    init?(_ unit: AccessUnit, known: CMAFFormat?) {
        switch unit.codec {
        case .h264: self.init(h264: unit.bytes, known)
        case .h265: self.init(h265: unit.bytes, known)
        case .av1: self.init(av1: unit.bytes, known)
        case .vp9: self.init(vp9: unit.bytes)
        case .vp8, .opus: return nil
        }
    }

    /// Creates the sample of a packet of audio, whose format is known.
    init(audio bytes: [UInt8]) {
        sample = CMAFSample(bytes: bytes, duration: 0, isSync: true)
        format = nil
    }

    private init(_ bytes: [UInt8], _ format: CMAFFormat?) {
        sample = CMAFSample(bytes: bytes, duration: 0, isSync: format != nil)
        self.format = format
    }

    private init?(h264 bytes: [UInt8], _ known: CMAFFormat?) {
        var unit = H264Sample(annexB: bytes)
        guard unit.hasSlice else { return nil }
        guard unit.isIDR else {
            self.init(unit.bytes, nil)
            return
        }
        if unit.format == nil, case .h264(let known)? = known { unit.insert(known) }
        guard let format = unit.format else { return nil }
        self.init(unit.bytes, .h264(format))
    }

    /// Parameter sets are left out, because those of the sample entry `hvc1` are only there (ISO/IEC 14496-15, section
    /// 8.4.1.1).
    private init?(h265 bytes: [UInt8], _ known: CMAFFormat?) {
        var sets = VideoParameterUnits()
        var (hasSlice, isRandomAccess) = (false, false)
        var leading: LeadingFrame?
        var data: [UInt8] = []
        data.reserveCapacity(bytes.count + 16)
        bytes.withByteView { source in
            var reader = AnnexBReader(source)
            while let unit = reader.nextUnit() {
                guard unit.count > HEVCUnit.headerSize else { continue }
                let type = HEVCUnit.type(unit[0])
                switch type {
                case HEVCUnit.accessUnitDelimiter, HEVCUnit.fillerData: continue
                case _ where HEVCUnit.parameterSets.contains(type):
                    sets.add(Array(unit))
                    continue
                case _ where HEVCUnit.slices.contains(type):
                    hasSlice = true
                    isRandomAccess = isRandomAccess || HEVCUnit.randomAccessPoints.contains(type)
                    if HEVCUnit.leadingFrames.contains(type) {
                        leading = HEVCUnit.skippedLeadingFrames.contains(type) ? .skipped : .decodable
                    }
                default: break
                }
                data.append(unitLength: unit.count)
                data.append(contentsOf: unit)
            }
        }
        guard hasSlice else { return nil }
        guard isRandomAccess else {
            self.init(data, nil)
            self.leading = leading
            return
        }
        if let format = H265Format(sets) {
            self.init(data, .h265(format))
        } else {
            guard case .h265? = known, let known else { return nil }
            self.init(data, known)
        }
    }

    /// Delimiters are left out (“AV1 Codec ISO Media File Format Binding”, section 2.4). The sequence header remains, so that
    /// decoders can begin with the sample.
    private init?(av1 bytes: [UInt8], _ known: CMAFFormat?) {
        var format: AV1Format?
        var (hasFrame, isKeyFrame) = (false, false)
        var data: [UInt8] = []
        data.reserveCapacity(bytes.count)
        let isWhole = bytes.withByteView { source in
            var reader = AV1UnitReader(source)
            while let unit = reader.next() {
                guard unit.type != AV1Unit.temporalDelimiter else { continue }
                data.append(contentsOf: source.extracting(unit.range))
                switch unit.type {
                case AV1Unit.sequenceHeader where unit.hasSize && format == nil:
                    let start = unit.range.lowerBound
                    format = AV1Format(
                        unit: Array(source.extracting(unit.range)),
                        contents: unit.contents.lowerBound - start..<unit.contents.upperBound - start)
                case AV1Unit.frame, AV1Unit.frameHeader:
                    hasFrame = true
                    isKeyFrame = isKeyFrame || AV1Unit.isKeyFrame(source.extracting(unit.contents))
                default: break
                }
            }
            return !reader.isMalformed
        }
        guard isWhole, hasFrame else { return nil }
        // Without a sequence header, another decoder could not begin here.
        self.init(data, isKeyFrame ? format.map { .av1($0) } : nil)
    }

    private init?(vp9 bytes: [UInt8]) {
        guard !bytes.isEmpty else { return nil }
        self.init(bytes, VP9Format(keyFrame: bytes.span).map { .vp9($0) })
    }
}

extension [UInt8] {
    /// Appends the length of a NAL unit with four bytes.
    mutating func append(unitLength length: Int) {
        for shift: UInt32 in [24, 16, 8, 0] {
            append(UInt8(truncatingIfNeeded: UInt32(truncatingIfNeeded: length) >> shift))
        }
    }
}
