import PCastCore
import Testing

@testable import PCastRTP

/// The dependency descriptor (AV1 RTP payload format 1.0, appendix A), with the structure of the scalability mode
/// `L2T2_KEY`.
@Suite struct DependencyDescriptorTests {
    /// Writes bits, the most significant one of each byte first.
    struct BitWriter {
        private(set) var bytes: [UInt8] = []
        private var count = 0

        mutating func append(_ value: UInt32, bits: Int) {
            for shift in stride(from: bits - 1, through: 0, by: -1) {
                if count % 8 == 0 { bytes.append(0) }
                bytes[bytes.count - 1] |= UInt8(value >> UInt32(shift) & 1) << UInt8(7 - count % 8)
                count += 1
            }
        }
    }

    /// A row of the table of a scalability mode.
    struct Row {
        var spatial: UInt32
        var temporal: UInt32
        var indications: String
        var chains: [UInt32]
        var frames: [UInt32]
    }

    static let rows = [
        Row(spatial: 0, temporal: 0, indications: "SSSS", chains: [0, 0], frames: []),
        Row(spatial: 0, temporal: 0, indications: "SS--", chains: [4, 3], frames: [4]),
        Row(spatial: 0, temporal: 1, indications: "-D--", chains: [2, 1], frames: [2]),
        Row(spatial: 1, temporal: 0, indications: "--SS", chains: [1, 1], frames: [1]),
        Row(spatial: 1, temporal: 0, indications: "--SS", chains: [1, 4], frames: [4]),
        Row(spatial: 1, temporal: 1, indications: "---D", chains: [3, 2], frames: [2]),
    ]

    private static let codes: [Character: UInt32] = ["-": 0, "D": 1, "S": 2, "R": 3]

    /// Returns the descriptor of a key frame, with the structure and, if given, the active decode targets.
    static func keyFrame(_ number: UInt16, active: UInt32? = nil, firstTemplate: UInt32 = 0) -> [UInt8] {
        var writer = BitWriter()
        writer.append(0b11, bits: 2)
        writer.append(firstTemplate, bits: 6)
        writer.append(UInt32(number), bits: 16)
        writer.append(active == nil ? 0b10000 : 0b11000, bits: 5)
        writer.append(firstTemplate, bits: 6)
        writer.append(3, bits: 5)
        for (row, next) in zip(rows, rows.dropFirst()) {
            writer.append(next.spatial > row.spatial ? 2 : next.temporal > row.temporal ? 1 : 0, bits: 2)
        }
        writer.append(3, bits: 2)
        for row in rows { for letter in row.indications { writer.append(codes[letter] ?? 0, bits: 2) } }
        for row in rows {
            for distance in row.frames { writer.append(0b1_0000 | (distance - 1), bits: 5) }
            writer.append(0, bits: 1)
        }
        // Two chains are the number 2 of five in the non-symmetric form; the first two targets have chain 0.
        writer.append(2, bits: 2)
        for chain in [0, 0, 1, 1] as [UInt32] { writer.append(chain, bits: 1) }
        for row in rows { for distance in row.chains { writer.append(distance, bits: 4) } }
        writer.append(1, bits: 1)
        for (width, height) in [(320, 180), (640, 360)] as [(UInt32, UInt32)] {
            writer.append(width - 1, bits: 16)
            writer.append(height - 1, bits: 16)
        }
        if let active { writer.append(active, bits: 4) }
        return writer.bytes
    }

    /// Returns a descriptor without extended fields.
    static func frame(_ number: UInt16, template: UInt8, starts: Bool = true, ends: Bool = true) -> [UInt8] {
        [(starts ? 0x80 : 0) | (ends ? 0x40 : 0) | template, UInt8(number >> 8), UInt8(number & 0xFF)]
    }

    private static func parse(_ bytes: [UInt8], _ structure: DependencyStructure? = nil) -> DependencyDescriptor? {
        DependencyDescriptor(bytes.span, structure: structure)
    }

    /// Reads a descriptor of a packet, whose sequence number is the frame number unless one is given.
    private static func read(
        _ reader: inout LayerReader, _ descriptor: [UInt8], sequence: Int64? = nil
    ) -> FrameLayers {
        let number = Int64(descriptor[1]) << 8 | Int64(descriptor[2])
        return [UInt8](repeating: 1, count: 20).withByteView { payload in
            descriptor.withByteView {
                reader.read(.av1, payload: payload, descriptor: $0, sequence: sequence ?? number)
            }
        }
    }

    @Test("a structure has the layers, decode targets and chains of its table")
    func structure() throws {
        let descriptor = try #require(Self.parse(Self.keyFrame(7)))
        let structure = try #require(descriptor.structure)
        #expect(descriptor.startsFrame && descriptor.endsFrame && descriptor.frameNumber == 7)
        #expect(structure.templates.map { UInt32($0.spatial) } == Self.rows.map(\.spatial))
        #expect(structure.templates.map { UInt32($0.temporal) } == Self.rows.map(\.temporal))
        let targets = Self.rows.map { row in
            row.indications.enumerated().reduce(UInt32(0)) { $0 | ($1.element == "-" ? 0 : 1 << UInt32($1.offset)) }
        }
        #expect(structure.templates.map(\.targets) == targets)
        #expect(structure.templates.map(\.switchTargets) == [0b1111, 0b0011, 0, 0b1100, 0b1100, 0])
        #expect(structure.chainCount == 2 && structure.protection == [1, 1, 2, 2])
        #expect(structure.templates.map { [UInt32($0.chains[0]), UInt32($0.chains[1])] } == Self.rows.map(\.chains))
        let points = [(0, 0), (0, 1), (1, 0), (1, 1)].map { OperatingPoint(spatial: $0.0, temporal: $0.1) }
        #expect(structure.layers == points)
        #expect(structure.dimensions == [Dimensions(width: 320, height: 180), Dimensions(width: 640, height: 360)])
        #expect(descriptor.activeTargets == 0b1111)
    }

    @Test("a truncated descriptor, and one whose template does not exist, is invalid")
    func invalid() throws {
        let key = Self.keyFrame(7, active: 0b0011)
        let structure = try #require(Self.parse(key)?.structure)
        for length in 0..<key.count { #expect(Self.parse(Array(key.prefix(length)), structure) == nil || length == 3) }
        #expect(Self.parse(Self.frame(8, template: 6), structure) == nil)
        #expect(Self.parse(Self.frame(8, template: 5)) == nil)
    }

    @Test("the ids of templates wrap around")
    func wrappedTemplates() throws {
        let structure = try #require(Self.parse(Self.keyFrame(7, firstTemplate: 62))?.structure)
        let frame = try #require(Self.parse(Self.frame(8, template: 1), structure))
        #expect(frame.spatial == 1 && frame.temporal == 0 && frame.chains[0] == 1)
        #expect(Self.parse(Self.frame(8, template: 4), structure) == nil)
    }

    @Test("fields of a frame replace those of its template")
    func customFields() throws {
        let structure = try #require(Self.parse(Self.keyFrame(7))?.structure)
        var writer = BitWriter()
        writer.append(0b1100_0010, bits: 8)
        writer.append(300, bits: 16)
        writer.append(0b01111, bits: 5)
        writer.append(0b0111, bits: 4)
        for letter in "-S-D" { writer.append(Self.codes[letter] ?? 0, bits: 2) }
        // Two distances of four and eight bits.
        writer.append(1, bits: 2)
        writer.append(2, bits: 4)
        writer.append(2, bits: 2)
        writer.append(99, bits: 8)
        writer.append(0, bits: 2)
        for distance in [200, 3] as [UInt32] { writer.append(distance, bits: 8) }
        let frame = try #require(Self.parse(writer.bytes, structure))
        #expect(frame.activeTargets == 0b0111 && frame.targets == 0b1010 && frame.switchTargets == 0b0010)
        #expect(frame.chains[0] == 200 && frame.chains[1] == 3 && frame.temporal == 1)
    }

    @Test("the structure of a key frame is kept for the frames after it, and the active targets until they change")
    func reader() {
        var reader = LayerReader()
        #expect(Self.read(&reader, Self.frame(6, template: 1)).isKnown == false)
        #expect(Self.read(&reader, Self.keyFrame(7)).point == OperatingPoint(spatial: 0, temporal: 0))
        #expect(reader.activePoint == OperatingPoint(spatial: 1, temporal: 1))
        let upper = Self.read(&reader, Self.frame(8, template: 3))
        #expect(upper.point == OperatingPoint(spatial: 1, temporal: 0) && upper.endsFrame)
        _ = Self.read(&reader, Self.keyFrame(9, active: 0b0011))
        #expect(reader.activePoint == OperatingPoint(spatial: 0, temporal: 1))
        reader.restart()
        #expect(Self.read(&reader, Self.frame(10, template: 1)).isKnown == false)
    }

    /// The templates of the frames after a key frame with number 1, in the order of the table.
    private static let templates: [UInt8] = [3, 2, 5, 1, 4, 2, 5, 1, 4]

    private static func isBroken(without lost: [UInt16], active: UInt32? = nil) -> [UInt16] {
        var reader = LayerReader()
        var broken: [UInt16] = []
        for number in UInt16(1)...10 where !lost.contains(number) {
            _ = read(
                &reader,
                number == 1 ? keyFrame(1, active: active) : frame(number, template: templates[Int(number) - 2]))
            if reader.isChainBroken { broken.append(number) }
        }
        return broken
    }

    @Test("the loss of a frame of a chain is known with the next frame, and that of a discardable frame is none")
    func chains() {
        #expect(Self.isBroken(without: []) == [])
        #expect(Self.isBroken(without: [5]) == [6, 7, 8, 9, 10])
        #expect(Self.isBroken(without: [6]) == [7, 8, 9, 10])
        #expect(Self.isBroken(without: [3, 4, 7]) == [])
        // The upper spatial layer is not active.
        #expect(Self.isBroken(without: [6], active: 0b0011) == [])
    }

    @Test("a chain is whole again with the missing frame, or with a key frame")
    func repairedChain() {
        var reader = LayerReader()
        for (number, template) in [(2, 3), (3, 2), (4, 5), (6, 4)] as [(UInt16, UInt8)] {
            if number == 2 { _ = Self.read(&reader, Self.keyFrame(1)) }
            _ = Self.read(&reader, Self.frame(number, template: template))
        }
        #expect(reader.isChainBroken)
        var repaired = reader
        _ = Self.read(&repaired, Self.frame(5, template: 1))
        #expect(!repaired.isChainBroken)
        var spliced = reader
        let payload = [UInt8](repeating: 1, count: 20)
        _ = payload.withByteView { spliced.read(.av1, payload: $0, descriptor: ByteView(), sequence: 7) }
        #expect(!spliced.isChainBroken, "another source sends no descriptors")
        _ = Self.read(&reader, Self.keyFrame(7))
        #expect(!reader.isChainBroken)
    }

    @Test("a key frame that is retransmitted late does not replace a newer structure, or the targets after it")
    func lateKeyFrame() {
        var reader = LayerReader()
        _ = Self.read(&reader, Self.keyFrame(1))
        _ = Self.read(&reader, Self.frame(2, template: 3))
        _ = Self.read(&reader, Self.keyFrame(5, active: 0b0011, firstTemplate: 6))
        let newer = reader.structure
        #expect(newer?.firstTemplate == 6)
        // The key frame with number 3 was lost, and has the ids of the templates before.
        let late = Self.read(&reader, Self.keyFrame(3, firstTemplate: 0))
        #expect(late.point == OperatingPoint(spatial: 0, temporal: 0) && late.isKnown)
        #expect(reader.structure == newer && reader.activePoint == OperatingPoint(spatial: 0, temporal: 1))
        // A frame of the former structure is read with that, and one of the newer structure with the newer one.
        #expect(Self.read(&reader, Self.frame(4, template: 5)).point == OperatingPoint(spatial: 1, temporal: 1))
        #expect(Self.read(&reader, Self.frame(6, template: 8)).point == OperatingPoint(spatial: 0, temporal: 1))
    }

    @Test("a key frame that arrives after frames with its structure breaks no chain")
    func keyFrameAfterItsFrames() {
        var reader = LayerReader()
        _ = Self.read(&reader, Self.keyFrame(1))
        #expect(Self.read(&reader, Self.frame(6, template: 9)).isKnown == false)
        #expect(Self.read(&reader, Self.frame(7, template: 8)).isKnown == false)
        _ = Self.read(&reader, Self.keyFrame(5, firstTemplate: 6))
        #expect(reader.structure?.firstTemplate == 6)
        _ = Self.read(&reader, Self.frame(8, template: 11))
        #expect(!reader.isChainBroken)
    }

    @Test("a sender that restarts its frame numbers begins with its key frame")
    func renumberedFrames() {
        var reader = LayerReader()
        _ = Self.read(&reader, Self.keyFrame(30_000))
        _ = Self.read(&reader, Self.keyFrame(9), sequence: 30_001)
        _ = Self.read(&reader, Self.frame(10, template: 3), sequence: 30_002)
        #expect(!reader.isChainBroken)
        _ = Self.read(&reader, Self.frame(14, template: 4), sequence: 30_006)
        #expect(reader.isChainBroken)
    }
}
