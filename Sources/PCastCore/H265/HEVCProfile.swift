/// The profile and the scan type that a sequence parameter set of H.265 states (ITU-T H.265, section 7.3.3).
package struct HEVCProfile: Hashable, Sendable {
    /// The value of `general_profile_idc`.
    package let number: UInt8
    /// The flags of the profiles with which the video also conforms, from profile 0 in the highest bit.
    package let compatibility: UInt32
    /// Whether the video consists of interlaced frames or of fields.
    package let isInterlaced: Bool

    /// Whether WebRTC receivers decode it: Main and Main 10, with 4:2:0 and at most ten bits.
    package var isWidelyDecodable: Bool { [1, 2, 3].contains(number) || compatibility & 0x6000_0000 != 0 }

    /// Parses a NAL unit. Returns nil if it is not a sequence parameter set or is truncated.
    package init?(_ unit: ByteView) {
        guard unit.count > HEVCUnit.headerSize, HEVCUnit.type(unit[0]) == HEVCUnit.sequenceParameterSet else {
            return nil
        }
        let bytes = unit.span
        var reader = H264BitReader(offset: HEVCUnit.headerSize)
        // The ID of the video parameter set, the number of sub-layers, their nesting, the profile space and the tier.
        _ = reader.bits(4 + 3 + 1 + 2 + 1, bytes)
        number = UInt8(reader.bits(5, bytes))
        compatibility = reader.bits(32, bytes)
        let isProgressiveSource = reader.bit(bytes) == 1
        let isInterlacedSource = reader.bit(bytes) == 1
        // Both flags are set if each frame states it, and none if it is unknown.
        isInterlaced = isInterlacedSource && !isProgressiveSource
        guard !reader.isExhausted else { return nil }
    }
}

extension HEVCDecoderConfiguration {
    /// The profile of the first sequence parameter set; nil if there is none.
    package var profile: HEVCProfile? {
        parameterSets.withByteView { view in
            var reader = AnnexBReader(view)
            while let unit = reader.nextUnit() {
                if let profile = HEVCProfile(unit) { return profile }
            }
            return nil
        }
    }
}
