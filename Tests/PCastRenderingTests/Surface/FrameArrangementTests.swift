import PCastCodecs
import PCastCore
import Testing

@testable import PCastRendering

@Suite("The placement of a frame on a surface")
struct FrameArrangementTests {
    private let film = Dimensions(width: 1_280, height: 720)

    private func place(
        _ mode: AspectRatioMode, _ turn: FrameRotation = .none, on surface: Dimensions, pixelAspect: Double = 1
    ) -> FrameArrangement.Placement {
        FrameArrangement(aspectRatioMode: mode, rotation: turn).placement(film, on: surface, pixelAspect: pixelAspect)
    }

    @Test("letterbox shows the whole frame, centered and with its aspect ratio")
    func letterbox() {
        let wide = place(.letterbox, on: Dimensions(width: 2_000, height: 720))
        #expect(wide.part == FrameRectangle(film))
        #expect(wide.target == FrameRectangle(x: 360, y: 0, width: 1_280, height: 720))
        let high = place(.letterbox, on: Dimensions(width: 640, height: 640))
        #expect(high.target == FrameRectangle(x: 0, y: 140, width: 640, height: 360))
    }

    @Test("fill covers the whole surface, and cuts the same amount on both sides")
    func fill() {
        let square = place(.fill, on: Dimensions(width: 500, height: 500))
        #expect(square.target == FrameRectangle(x: 0, y: 0, width: 500, height: 500))
        #expect(square.part == FrameRectangle(x: 280, y: 0, width: 720, height: 720))
    }

    @Test("automatic fills if little is lost, and letterboxes otherwise")
    func automatic() {
        let sixteenByTen = Dimensions(width: 1_600, height: 1_000)
        #expect(place(.automatic, on: sixteenByTen) == place(.fill, on: sixteenByTen))
        let fourByThree = Dimensions(width: 800, height: 600)
        #expect(place(.automatic, on: fourByThree) == place(.letterbox, on: fourByThree))
    }

    @Test("a frame that is rotated by a quarter has its width and height exchanged")
    func turned() {
        let portrait = Dimensions(width: 720, height: 1_280)
        #expect(place(.letterbox, .clockwise90, on: portrait).target == FrameRectangle(portrait))
        let cut = place(.fill, .clockwise270, on: Dimensions(width: 720, height: 720))
        #expect(cut.part == FrameRectangle(x: 280, y: 0, width: 720, height: 720))
    }

    @Test("the pixel aspect ratio is applied")
    func pixelAspect() {
        // 160 columns of pixels that are twice as wide as high are as wide as 320.
        let placed = place(.letterbox, on: Dimensions(width: 160, height: 180), pixelAspect: 2)
        #expect(placed.target == FrameRectangle(x: 0, y: 0, width: 160, height: 180))
    }

    @Test("source parts lie within the frame and targets within the surface, for all sizes")
    func bounds() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let side = { (random: inout SystemRandomNumberGenerator) in Int.random(in: 1...2_000, using: &random) }
            let frame = Dimensions(width: side(&random), height: side(&random))
            let surface = Dimensions(width: side(&random), height: side(&random))
            let arrangement = FrameArrangement(
                aspectRatioMode: AspectRatioMode.allCases.randomElement(using: &random)!,
                rotation: FrameRotation.allCases.randomElement(using: &random)!)
            let placed = arrangement.placement(frame, on: surface)
            #expect(placed.part.isWithin(frame), "\(frame) on \(surface), \(arrangement)")
            #expect(placed.target.isWithin(surface), "\(frame) on \(surface), \(arrangement)")
        }
    }
}

extension FrameRectangle {
    fileprivate func isWithin(_ whole: Dimensions) -> Bool {
        x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= whole.width && y + height <= whole.height
    }
}
