internal import PCastCore

/// Boxes that fragmented and progressive movies have in common.
extension BoxWriter {
    /// Writes the rest of a movie header after its duration (ISO/IEC 14496-12, section 8.2.2).
    mutating func movieHeaderEnd(nextTrackID: UInt32) {
        uint32(0x0001_0000)
        uint16(0x0100)
        zeros(10)
        matrix()
        zeros(24)
        uint32(nextTrackID)
    }

    /// Writes the rest of a track header after its duration (ISO/IEC 14496-12, section 8.3.2).
    mutating func trackHeaderEnd(_ mediaType: MediaType, width: Int, height: Int) {
        zeros(8)
        uint16(0)
        uint16(0)
        uint16(mediaType == .audio ? 0x0100 : 0)
        uint16(0)
        matrix()
        uint32(UInt32(width) << 16)
        uint32(UInt32(height) << 16)
    }

    /// Writes the identity matrix.
    private mutating func matrix() {
        for value: UInt32 in [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000] { uint32(value) }
    }

    /// Writes the rest of a media header after its duration: the language “und” in three times five bits (ISO/IEC
    /// 14496-12, section 8.4.2).
    mutating func mediaHeaderEnd() {
        uint16(0x55C4)
        uint16(0)
    }

    /// Writes the handler and the media information of a track, whose sample table the closure writes (ISO/IEC 14496-12,
    /// sections 8.4.3 and 8.4.4).
    mutating func mediaInformation(_ mediaType: MediaType, sampleTable: (inout BoxWriter) -> Void) {
        fullBox("hdlr") { writer in
            writer.uint32(0)
            writer.text(mediaType == .video ? "vide" : "soun")
            writer.zeros(12)
            writer.text(mediaType == .video ? "video" : "audio")
            writer.uint8(0)
        }
        box("minf") { writer in
            if mediaType == .video {
                writer.fullBox("vmhd", flags: 1) { $0.zeros(8) }
            } else {
                writer.fullBox("smhd") { $0.zeros(4) }
            }
            writer.box("dinf") { writer in
                writer.fullBox("dref") { writer in
                    writer.uint32(1)
                    // The media are in the same file.
                    writer.fullBox("url ", flags: 1) { _ in }
                }
            }
            writer.box("stbl") { sampleTable(&$0) }
        }
    }
}
