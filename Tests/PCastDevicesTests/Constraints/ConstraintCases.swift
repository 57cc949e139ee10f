import PCastCore
import PCastTestSupport

@testable import PCastDevices

/// Generates devices and constraints. The same seed generates the same ones.
struct ConstraintCases: RandomNumberGenerator {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { generator.next() }

    mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }

    mutating func devices() -> [SourceDevice] {
        (0..<Int.random(in: 1...3, using: &self)).map { camera("c\($0)") }
    }

    private mutating func camera(_ id: String) -> SourceDevice {
        let formats = (0..<Int.random(in: 1...3, using: &self)).map { _ in format() }
        var device = ConstraintDevices.camera(
            id, id, facing: one(of: [.undefined, .user, .environment]), location: one(of: DeviceLocation.allCases),
            formats: formats, flashModes: one(of: [[.alwaysOff], Set(FlashMode.allCases)]),
            focusModes: one(of: [[], [.locked], [.locked, .autoThenLocked, .continuous]]),
            hasFocusTarget: Bool.random(using: &self), canFollowDevice: Bool.random(using: &self),
            mountRotation: Int.random(in: 0...3, using: &self))
        device.info.deviceType = one(of: [.physical, .physical, .physical, .systemOutput, .synthetic, .null])
        return device
    }

    private mutating func format() -> CaptureFormat {
        let sides = [320, 480, 640, 720, 1_080, 1_280, 1_920]
        let sizes: CaptureFormat.Sizes =
            switch Int.random(in: 0..<4, using: &self) {
            case 0:
                .stepwise(
                    smallest: Dimensions(width: 64, height: 48),
                    largest: Dimensions(width: one(of: [64, 500, 1_400]), height: one(of: [48, 400, 800])),
                    step: Dimensions(width: one(of: [250, 340]), height: one(of: [180, 250])))
            default: .discrete(Dimensions(width: one(of: sides), height: one(of: sides)))
            }
        let rates = (0..<Int.random(in: 1...3, using: &self)).map { _ in
            one(of: [
                FrameRate(5), FrameRate(10), FrameRate(15), FrameRate(30_000, 1_001), FrameRate(30), FrameRate(60),
            ])
        }
        return CaptureFormat(
            encoding: one(of: [.yuyv, .nv12, .i420, .mjpeg, .h264, .computed, .other("GREY")]), sizes: sizes,
            rates: .discrete(rates))
    }

    mutating func constraints() -> DeviceConstraints {
        var constraints: DeviceConstraints = [:]
        for _ in 0..<Int.random(in: 0...5, using: &self) {
            let capability = one(of: DeviceCapability.allCases.filter { $0.mediaTypes.contains(.video) })
            let kind = Bool.random(using: &self) ? .ideal : one(of: capability.kinds)
            constraints[capability, default: []].append(DeviceConstraint(value(of: capability), kind: kind))
        }
        return constraints
    }

    private mutating func value(of capability: DeviceCapability) -> DeviceConstraint.Value {
        switch capability {
        case .width, .height: .number(one(of: [100, 320, 480, 500, 640, 700, 720, 1_080, 1_280, 1_500, 1_920, 4_000]))
        case .frameRate: .number(one(of: [1, 10, 12, 15, 24, 29.97, 30, 45, 60, 120]))
        case .facingMode: .facingMode(one(of: FacingMode.allCases))
        case .flashMode: .flashMode(one(of: FlashMode.allCases))
        case .deviceID: .text(one(of: ["c0", "c1", "c2", "c9"]))
        case .location: .location(one(of: DeviceLocation.allCases))
        case .polarPattern: .polarPattern(one(of: PolarPattern.allCases))
        case .audioEchoCancellationMode: .echoCancellation(one(of: AudioEchoCancellationMode.allCases))
        case .videoSourceRotationMode: .rotationMode(one(of: VideoSourceRotationMode.allCases))
        case .autoFocusMode: .autoFocusMode(one(of: AutoFocusMode.allCases))
        case .autoFocusTarget: .focusTarget(one(of: [FocusTarget(x: 0, y: 0.5)!, FocusTarget(x: 1, y: 1)!]))
        case .audioChannelLayout: .channelLayout(one(of: AudioChannelLayout.allCases))
        }
    }
}
