import PCastCore
import Testing

@testable import PCastDevices

@Suite("The selection of a camera")
struct ConstraintSolverVideoTests {
    typealias Devices = ConstraintDevices

    private func select(
        _ devices: [SourceDevice], _ constraints: DeviceConstraints = [:], prefersCoded: Bool = false
    ) throws -> VideoSelection {
        try #require(
            try ConstraintSolver.selectVideo(
                from: devices, constraints: constraints, prefersCoded: prefersCoded))
    }

    @Test("without constraints: the first one, at 1280x720 and 30, even if others have more")
    func defaults() throws {
        let small = Devices.camera("small", "Small", formats: [Devices.format(.yuyv, 320, 240, [15])])
        #expect(try select([small, Devices.back]).device == small)
        let selection = try select([Devices.back, small])
        #expect(selection.device == Devices.back)
        #expect(selection.configuration == VideoConfiguration(encoding: .nv12))
        #expect(selection.unmet.isEmpty)
    }

    @Test("MJPEG at 30 is preferred to raw frames at 10, and raw frames of the same rate to MJPEG")
    func encodings() throws {
        let chosen = try select([Devices.webcam]).configuration
        #expect((chosen.encoding, chosen.frameRate) == (.mjpeg, FrameRate(30)))
        #expect(chosen.dimensions == Dimensions(width: 1_280, height: 720))
        let small = try select([Devices.webcam], [.width: [.ideal(640)]]).configuration
        #expect((small.encoding, small.frameRate) == (.yuyv, FrameRate(30)))
        // The driver's order has no effect.
        let all: [CaptureEncoding] = [.h264, .mjpeg, .yuyv, .nv12, .i420]
        for count in 1...all.count {
            let formats = all.prefix(count).map { Devices.format($0, 1_280, 720, [30]) }
            let camera = Devices.camera(
                "c", "C", formats: formats + [Devices.format(.other("GREY"), 1_280, 720, [30])])
            #expect(try select([camera]).configuration.encoding == all[count - 1])
        }
    }

    @Test("a camera's own H.264 is used on request, or if there is nothing else")
    func coded() throws {
        let formats = [
            Devices.format(.i420, 1_280, 720, [30]), Devices.format(.h264, 1_280, 720, [30]),
        ]
        let camera = Devices.camera("c", "C", formats: formats)
        #expect(try select([camera]).configuration.encoding == .i420)
        #expect(try select([camera], prefersCoded: true).configuration.encoding == .h264)
        // A better size does not compensate for decoding that was not requested.
        #expect(
            try select([
                Devices.camera(
                    "c", "C",
                    formats: [Devices.format(.i420, 640, 480, [30]), Devices.format(.h264, 1_280, 720, [30])])
            ]).configuration.encoding == .i420)
        #expect(
            try select([Devices.camera("c", "C", formats: [formats[1]])]).configuration.encoding == .h264)
    }

    @Test("an ideal size selects the device's nearest one, and nothing is scaled")
    func nearest() throws {
        let selection = try select([Devices.webcam], [.width: [.ideal(1_000)], .height: [.ideal(600)]])
        #expect(selection.configuration.dimensions == Dimensions(width: 1_280, height: 720))
        #expect(selection.unmet == [.width: "1280 instead of 1000", .height: "720 instead of 600"])
        #expect(selection.explanation.candidates[0].distances[.width] == 280.0 / 1_280)
    }

    @Test("the height follows an ideal width, as 16:9")
    func shape() throws {
        #expect(
            try select([Devices.testPattern], [.width: [.ideal(640)]]).configuration.dimensions
                == Dimensions(width: 640, height: 360))
        #expect(
            try select([Devices.testPattern], [.height: [.exact(1_080)]]).configuration.dimensions
                == Dimensions(width: 1_920, height: 1_080))
        // A limit alone does not set a size.
        #expect(
            try select([Devices.testPattern], [.width: [.min(100)]]).configuration.dimensions
                == Dimensions(width: 1_280, height: 720))
    }

    @Test("a camera that is mounted on its side is selected by its delivered size", arguments: [1, 3])
    func turned(_ turns: Int) throws {
        var capabilities = VideoCapabilities(
            formats: [Devices.format(.yuyv, 640, 480, [30]), Devices.format(.yuyv, 1_280, 720, [30])])
        capabilities.mountRotation = turns
        var camera = Devices.webcam
        camera.capabilities = .video(capabilities)
        let selection = try select([camera], [.width: [.exact(480)], .height: [.max(640)]])
        #expect(selection.configuration.dimensions == Dimensions(width: 640, height: 480))
        #expect(selection.deliveredDimensions == Dimensions(width: 480, height: 640))
        #expect(selection.explanation.candidates[0].configuration == "480x640 at 30, YUYV")
        #expect(try select([camera]).configuration.dimensions == Dimensions(width: 1_280, height: 720))
        let failure = ConstraintFailure(capability: .width, constraint: .min(1_280), nearest: "720")
        #expect(throws: failure) { try select([camera], [.width: [.min(1_280)]]) }
    }

    @Test("a camera that is rotated by two quarters keeps its width and height")
    func upsideDown() throws {
        let camera = Devices.camera(
            "c", "C", formats: [Devices.format(.yuyv, 640, 480, [30])], mountRotation: 2)
        #expect(try select([camera]).deliveredDimensions == Dimensions(width: 640, height: 480))
    }

    @Test(
        "sizes in steps are multiples of the step",
        arguments: [(644.0, 640), (651, 656), (10, 64), (9_000, 1_024)])
    func stepwise(_ ideal: Double, _ width: Int) throws {
        let format = CaptureFormat(
            encoding: .yuyv,
            sizes: .stepwise(
                smallest: Dimensions(width: 64, height: 64), largest: Dimensions(width: 1_030, height: 800),
                step: Dimensions(width: 16, height: 8)), rates: .discrete([FrameRate(30)]))
        let camera = Devices.camera("c", "C", formats: [format])
        #expect(try select([camera], [.width: [.ideal(ideal)]]).configuration.dimensions.width == width)
    }

    @Test("rates in a range are exact; 29.97 is the fraction of television")
    func rangeOfRates() throws {
        let selection = try select([Devices.testPattern], [.frameRate: [.exact(29.97)]])
        #expect(selection.configuration.frameRate == FrameRate(30_000, 1_001))
        #expect(
            try select([Devices.testPattern], [.frameRate: [.ideal(12.5)]]).configuration.frameRate
                .perSecond == 12.5)
        #expect(
            try select([Devices.testPattern], [.frameRate: [.ideal(500)]]).configuration.frameRate
                == FrameRate(120))
        #expect(
            try select([Devices.testPattern], [.frameRate: [.min(50)]]).configuration.frameRate
                == FrameRate(50))
    }

    @Test("30000/1001 meets 29.97 and 30, and 30 meets 29.97", arguments: [29.97, 30, 29.98])
    func television(_ wanted: Double) throws {
        for rate in [FrameRate(30_000, 1_001), FrameRate(30)] {
            let format = CaptureFormat(
                encoding: .yuyv, sizes: .discrete(Dimensions(width: 640, height: 480)),
                rates: .discrete([rate]))
            let camera = Devices.camera("c", "C", formats: [format])
            for kind in DeviceConstraint.Kind.allCases {
                let constraint = DeviceConstraint(.number(wanted), kind: kind)
                let selection = try select([camera], [.frameRate: [constraint]])
                #expect(selection.configuration.frameRate == rate)
                #expect(selection.unmet.isEmpty)
            }
        }
        let slow = Devices.camera("c", "C", formats: [Devices.format(.yuyv, 640, 480, [29])])
        #expect(throws: ConstraintFailure.self) { try select([slow], [.frameRate: [.exact(wanted)]]) }
    }

    @Test("an ideal size never selects the test pattern or black video instead of a camera")
    func hardwareFirst() throws {
        let devices = [Devices.blackFrame, Devices.testPattern, Devices.webcam]
        let ideals: DeviceConstraints = [.width: [.ideal(3_840)], .height: [.ideal(2_160)]]
        #expect(try select(devices, ideals).device == Devices.webcam)
        #expect(try select(Array(devices.prefix(2)), ideals).device == Devices.testPattern)
        // They are selected on request, or if no camera meets a required constraint.
        #expect(
            try select(devices, [.deviceID: [.ideal(.text("null"))]]).device == Devices.blackFrame)
        #expect(try select(devices, [.width: [.min(3_840)]]).device == Devices.testPattern)
    }

    @Test("ideal constraints select a camera, and the order of the cameras decides between equals")
    func order() throws {
        #expect(
            try select([Devices.webcam, Devices.back], [.frameRate: [.ideal(60)]]).device == Devices.back)
        var second = Devices.webcam
        second.info.id = "second"
        #expect(try select([second, Devices.webcam], [.width: [.ideal(640)]]).device == second)
        #expect(try select([Devices.webcam, second], [.width: [.ideal(640)]]).device == Devices.webcam)
    }

    @Test("nothing is selected if no device delivers frames")
    func nothing() throws {
        let infrared = Devices.camera(
            "ir", "IR camera", formats: [Devices.format(.other("GREY"), 640, 360, [15])])
        let listless = Devices.camera("no", "No formats", formats: [])
        #expect(try ConstraintSolver.selectVideo(from: []) == nil)
        #expect(try ConstraintSolver.selectVideo(from: [Devices.stereo, infrared, listless]) == nil)
        #expect(
            try ConstraintSolver.selectVideo(from: [infrared], constraints: [.width: [.min(1)]]) == nil)
        #expect(try ConstraintSolver.selectAudio(from: [Devices.webcam]) == nil)
    }

    @Test("invalid values of a driver are ignored, and an impossible number is not met")
    func nonsense() throws {
        let huge = Int(UInt32.max)
        func sizes(_ smallest: (Int, Int), _ largest: (Int, Int), _ step: Int) -> CaptureFormat {
            CaptureFormat(
                encoding: .yuyv,
                sizes: .stepwise(
                    smallest: Dimensions(width: smallest.0, height: smallest.1),
                    largest: Dimensions(width: largest.0, height: largest.1),
                    step: Dimensions(width: step, height: step)),
                rates: .discrete([FrameRate(30)]))
        }
        let lies = [
            sizes((0, 0), (640, 480), 2), sizes((640, 480), (320, 240), 2),
            sizes((Int.max, 2), (Int.max, 2), 1),
            Devices.format(.yuyv, 0, 720, [30]), Devices.format(.yuyv, 640, 480, []),
        ]
        #expect(
            try ConstraintSolver.selectVideo(from: [Devices.camera("c", "C", formats: lies)]) == nil)
        let odd = [sizes((1, 1), (huge, huge), 0), sizes((2, 2), (Int.max, Int.max), huge), lies[0]]
        let camera = Devices.camera("c", "C", formats: odd)
        #expect(try select([camera]).configuration.dimensions == Dimensions(width: 1_280, height: 720))
        for number in [Double.nan, .infinity, -.infinity, -1, 0, 1e300] {
            let selection = try select(
                [Devices.webcam], [.width: [.ideal(number)], .frameRate: [.ideal(number)]])
            #expect(selection.unmet.count == 2)
            #expect(throws: ConstraintFailure.self) { try select([camera], [.width: [.exact(number)]]) }
            #expect(throws: ConstraintFailure.self) {
                try select([camera], [.frameRate: [.exact(number)]])
            }
        }
        let confused: DeviceConstraints = [.width: [.exact(.text("wide"))]]
        #expect(
            throws: ConstraintFailure(capability: .width, constraint: .exact(.text("wide")), nearest: nil)
        ) { try select([camera], confused) }
    }

    @Test("an explanation ranks all devices, with the distance of each ideal constraint and the reason")
    func explanation() throws {
        let selection = try select(
            [Devices.front, Devices.back, Devices.webcam, Devices.testPattern],
            [
                .facingMode: [.ideal(.facingMode(.environment))], .width: [.min(1_280)],
                .flashMode: [.exact(.flashMode(.alwaysOff))],
            ])
        let candidates = selection.explanation.candidates
        #expect(candidates.map(\.device.id) == ["back", "front", "webcam", "synthetic"])
        #expect(candidates.map(\.distance) == [0, 1, 1, 1])
        #expect(
            candidates.allSatisfy {
                $0.distances.keys.sorted { $0.position < $1.position } == [.facingMode]
            })
        #expect(
            selection.explanation.reason
                == "Back camera rather than Front camera: it is nearer to the ideal constraints.")
        #expect(
            "\(selection.explanation)".split(separator: "\n").map(String.init)[2]
                == "3. Webcam (webcam): 1280x720 at 30, MJPEG (rather than 1280x720 at 10, YUYV: "
                + "it is nearer to 1280x720 at 30); distance 1 (facing-mode 1)")
        let demanding = try select(
            [Devices.front, Devices.back], [.flashMode: [.exact(.flashMode(.alwaysOn))]])
        #expect(demanding.explanation.candidates[1].unmetDemands == ["flash-mode exact always-on"])
        #expect("\(demanding.explanation)".contains("cannot satisfy flash-mode exact always-on"))
        #expect(try select([Devices.front]).explanation.reason == "Front camera is the only device.")
    }
}
