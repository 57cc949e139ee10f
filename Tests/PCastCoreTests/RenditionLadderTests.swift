import Testing

@testable import PCastCore

@Suite("The ladder of renditions")
struct RenditionLadderTests {
    @Test("it is in the order of quality, and leaves room for the publisher's layer in a byte")
    func order() {
        let ladder = Rendition.ladder
        #expect(Rendition.all.count < 8)
        #expect(Rendition.all[Rendition.transcodedLayer - 1] == .transcoded)
        #expect(zip(ladder, ladder.dropFirst()).allSatisfy { $0.bitrate > $1.bitrate && $0.height >= $1.height })
        #expect(Set(ladder.map(\.name)).count == ladder.count)
    }

    @Test("a rendition has the aspect ratio of its source and even sides, and is never larger")
    func dimensions() throws {
        let low = try #require(Rendition.ladder.first { $0.name == "ld" })
        #expect(low.dimensions(of: Dimensions(width: 1280, height: 720)) == Dimensions(width: 640, height: 360))
        #expect(low.dimensions(of: Dimensions(width: 720, height: 1280)) == Dimensions(width: 360, height: 640))
        #expect(low.dimensions(of: Dimensions(width: 854, height: 480)) == Dimensions(width: 640, height: 360))
        #expect(low.dimensions(of: Dimensions(width: 641, height: 361)) == Dimensions(width: 638, height: 360))
        #expect(low.dimensions(of: Dimensions(width: 321, height: 241)) == Dimensions(width: 320, height: 240))
        #expect(low.dimensions(of: Dimensions(width: 1, height: 1)) == Dimensions(width: 2, height: 2))
        let full = Rendition.transcoded.dimensions(of: Dimensions(width: 1921, height: 1080))
        #expect(full == Dimensions(width: 1920, height: 1080))
        #expect(Rendition.transcoded.bitrate(of: full) == .kilobits(3_000))
        #expect(low.bitrate(of: full) == .kilobits(520))
    }

    @Test("only renditions that are not larger and clearly need less are useful")
    func useful() {
        func names(_ width: Int, _ height: Int, _ kilobits: Int64, isMade: Bool = false) -> [String] {
            Rendition.ladder.filter {
                $0.isUseful(
                    below: Dimensions(width: width, height: height), source: .kilobits(kilobits), isMade: isMade)
            }.map(\.name)
        }
        #expect(names(1920, 1080, 6_000) == ["hd", "sd", "ld", "vld", "vvld", "uld"])
        #expect(names(1280, 720, 1_700) == ["sd", "ld", "vld", "vvld", "uld"])
        #expect(names(1280, 720, 1_700, isMade: true) == ["hd", "sd", "ld", "vld", "vvld", "uld"])
        #expect(names(640, 360, 5_000) == ["ld", "vld", "vvld", "uld"])
        #expect(names(640, 360, 100).isEmpty)
        #expect(names(100, 100, 5_000).isEmpty)
    }
}
