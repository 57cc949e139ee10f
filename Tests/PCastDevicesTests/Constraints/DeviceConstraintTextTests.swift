import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

@Suite("Constraints as text")
struct DeviceConstraintTextTests {
    @Test(
        "each form has its meaning",
        arguments: [
            ("width=1280", DeviceCapability.width, DeviceConstraint.ideal(1_280)),
            ("width:min=640", .width, .min(640)), ("height:max=1080", .height, .max(1_080)),
            ("frame-rate:exact=29.97", .frameRate, .exact(29.97)), ("frame-rate:ideal=60", .frameRate, .ideal(60)),
            ("facing-mode:exact=environment", .facingMode, .exact(.facingMode(.environment))),
            ("flash-mode=always-on", .flashMode, .ideal(.flashMode(.alwaysOn))),
            ("device-id=usb-A=B:1", .deviceID, .ideal(.text("usb-A=B:1"))),
            ("location=upper", .location, .ideal(.location(.upper))),
            ("rotation-mode=follow-ui-rotation", .videoSourceRotationMode, .ideal(.rotationMode(.followUIRotation))),
            (
                "video-source-rotation-mode=automatic", .videoSourceRotationMode, .ideal(.rotationMode(.automatic))
            ), ("auto-focus-mode=auto-then-locked", .autoFocusMode, .ideal(.autoFocusMode(.autoThenLocked))),
            (
                "auto-focus-target=0.5,0.25", .autoFocusTarget, .ideal(.focusTarget(FocusTarget(x: 0.5, y: 0.25)!))
            ),
        ])
    func video(_ text: String, _ capability: DeviceCapability, _ constraint: DeviceConstraint) throws {
        #expect(try DeviceConstraints.parse([text], for: .video) == [capability: [constraint]])
    }

    @Test("audio has its own forms")
    func audio() throws {
        let texts = [
            "channel-layout=mono", "polar-pattern:exact=cardioid", "echo-cancellation=on",
            "audio-echo-cancellation-mode:exact=off", "facing-mode=user",
        ]
        #expect(
            try DeviceConstraints.parse(texts, for: .audio) == [
                .audioChannelLayout: [.ideal(.channelLayout(.mono))],
                .polarPattern: [.exact(.polarPattern(.cardioid))],
                .audioEchoCancellationMode: [.ideal(.echoCancellation(.on)), .exact(.echoCancellation(.off))],
                .facingMode: [.ideal(.facingMode(.user))],
            ])
    }

    @Test("several constraints of a capability all count, in order; none are none")
    func several() throws {
        #expect(
            try DeviceConstraints.parse(["width:min=640", "width=800", "width=900"], for: .video)
                == [.width: [.min(640), .ideal(800), .ideal(900)]])
        #expect(try DeviceConstraints.parse([], for: .video) == [:])
    }

    @Test("a constraint's text is parsed as the same constraint")
    func writing() throws {
        let texts = [
            "width:min=640", "width=1280", "height:max=1080", "frame-rate:exact=29.97", "facing-mode=user",
            "flash-mode:exact=always-off", "device-id=a b", "location=lower", "video-source-rotation-mode=automatic",
            "auto-focus-mode=continuous", "auto-focus-target=0.3333333333333333,1",
        ]
        #expect(try DeviceConstraints.parse(texts, for: .video).texts == texts)
    }

    @Test(
        "invalid text is rejected, with the accepted forms",
        arguments: [
            ("", "width, height, frame-rate"), ("=5", "width, height"), ("widht=5", "auto-focus-target"),
            ("width", "width=VALUE or width:KIND=VALUE"), ("width=", "pixels"), ("width=-5", "pixels"),
            ("width=0", "pixels"), ("width=1280.5", "pixels"), ("width=99999999999999999999", "pixels"),
            ("width:most=5", "min, max, exact, ideal"), ("width:=5", "min, max, exact, ideal"),
            ("facing-mode:min=user", "exact, ideal"), ("facing-mode=front", "automatic, undefined, user, environment"),
            ("frame-rate=nan", "29.97"), ("frame-rate=inf", "29.97"), ("frame-rate=0", "29.97"),
            ("device-id=", "ID of a device"), ("auto-focus-target=0.5", "X,Y"), ("auto-focus-target=0.5,2", "X,Y"),
            ("auto-focus-target=nan,0", "X,Y"), ("auto-focus-target=0,0,0", "X,Y"),
            ("polar-pattern=cardioid", "capabilities of video are"), ("WIDTH=5", "capabilities of video are"),
        ])
    func nonsense(_ text: String, _ accepted: String) throws {
        let error = try #require(throws: DeviceError.self) { try DeviceConstraints.parse([text], for: .video) }
        guard case .noConstraint(text, let reason) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(reason.contains(accepted), "\(reason)")
    }

    @Test("each capability's own name is one of its words, and no word has two meanings")
    func words() {
        let words = DeviceCapability.allCases.flatMap(\.words)
        #expect(Set(words).count == words.count)
        #expect(DeviceCapability.allCases.allSatisfy { $0.words.first == $0.rawValue })
    }
}

/// "The value must be coordinates as a CGPoint object where [0;0] is the top left of the image, and [1;1] the bottom
/// right."
@Suite("The focus target")
struct FocusTargetTests {
    /// Returns the position of the brightest sample, as a fraction of the width and the height.
    private func bright(_ frame: VideoFrame) -> (x: Double, y: Double) {
        var best = (luma: UInt8(0), x: 0, y: 0)
        for y in 0..<frame.dimensions.height {
            for x in 0..<frame.dimensions.width where frame.planeY[y * frame.strideY + x] > best.luma {
                best = (frame.planeY[y * frame.strideY + x], x, y)
            }
        }
        return (
            (Double(best.x) + 0.5) / Double(frame.dimensions.width),
            (Double(best.y) + 0.5) / Double(frame.dimensions.height)
        )
    }

    @Test(
        "is a position of the frame as displayed: the same object is in focus however the frame is rotated",
        arguments: FrameRotation.allCases)
    func rotation(_ turn: FrameRotation) throws {
        let rotator = FrameRotator()
        for (x, y) in [(3, 5), (60, 2), (10, 40), (63, 47)] {
            let captured = TestFrames.empty(Dimensions(width: 64, height: 48))
            captured.planeY[y * captured.strideY + x] = 235
            let displayed = bright(rotator.turn(captured, by: turn))
            let target = try #require(FocusTarget(x: displayed.x, y: displayed.y)).beforeRotation(turn)
            let wanted = bright(captured)
            #expect(abs(target.x - wanted.x) < 1e-9 && abs(target.y - wanted.y) < 1e-9, "\(target) is not \(wanted)")
        }
    }

    @Test("corners stay corners", arguments: FrameRotation.allCases)
    func corners(_ turn: FrameRotation) throws {
        for (x, y) in [(0.0, 0.0), (1, 0), (0, 1), (1, 1)] {
            let target = try #require(FocusTarget(x: x, y: y)).beforeRotation(turn)
            #expect([0, 1].contains(target.x) && [0, 1].contains(target.y))
        }
    }
}
