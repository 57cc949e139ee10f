import PCastCore
import Testing

@testable import PCastDevices

@Suite("A required constraint that cannot be met is named")
struct ConstraintFailureTests {
    typealias Devices = ConstraintDevices

    private func failure(_ devices: [SourceDevice], _ constraints: DeviceConstraints) throws
        -> ConstraintFailure
    {
        try #require(throws: ConstraintFailure.self) {
            try ConstraintSolver.selectVideo(from: devices, constraints: constraints)
        }
    }

    @Test("the error has its kind, its value and the nearest available value")
    func width() throws {
        let failure = try failure([Devices.webcam, Devices.front], [.width: [.min(8_000)]])
        #expect(
            failure == ConstraintFailure(capability: .width, constraint: .min(8_000), nearest: "1920"))
        #expect(
            "\(failure)"
                == "no device satisfies the required constraint width min 8000; the nearest available value is 1920.")
    }

    @Test("the nearest value is of a device that meets the other constraints")
    func others() throws {
        let constraints: DeviceConstraints = [
            .width: [.min(8_000)], .facingMode: [.exact(.facingMode(.user))], .height: [.ideal(480)],
        ]
        let named = try failure([Devices.webcam, Devices.front], constraints)
        #expect(
            named == ConstraintFailure(capability: .width, constraint: .min(8_000), nearest: "1280"))
    }

    @Test("of two conflicting constraints, the error names the one with the smaller distance")
    func jointly() throws {
        // A width of 1920 permits 15 and 30, and none permits 60. 30 is half of it, and 1280 is two thirds of 1920.
        let camera = Devices.camera(
            "c", "C",
            formats: [Devices.format(.yuyv, 1_280, 720, [60]), Devices.format(.yuyv, 1_920, 1_080, [30])])
        let both: DeviceConstraints = [.width: [.min(1_920)], .frameRate: [.min(60)]]
        #expect(
            try failure([camera], both)
                == ConstraintFailure(capability: .width, constraint: .min(1_920), nearest: "1280"))
        let slower: DeviceConstraints = [.width: [.min(1_920)], .frameRate: [.min(40)]]
        #expect(
            try failure([camera], slower)
                == ConstraintFailure(capability: .frameRate, constraint: .min(40), nearest: "30"))
    }

    @Test("if no device meets several, the error names the one with the smallest distance, then the next")
    func several() throws {
        var constraints: DeviceConstraints = [
            .width: [.min(8_000)], .facingMode: [.exact(.facingMode(.user))], .frameRate: [.min(40)],
        ]
        var named: [DeviceCapability] = []
        while named.count < 3 {
            let failure = try failure([Devices.webcam], constraints)
            named.append(failure.capability)
            constraints[failure.capability] = nil
        }
        #expect(named == [.frameRate, .width, .facingMode])
        #expect(try ConstraintSolver.selectVideo(from: [Devices.webcam], constraints: constraints) != nil)
    }

    @Test("contradictory constraints are reported as such")
    func contradiction() throws {
        let named = try failure([Devices.testPattern], [.width: [.min(1_000), .max(800)]])
        #expect(
            named
                == ConstraintFailure(
                    capability: .width, constraint: .max(800), nearest: "1000", contradiction: .min(1_000)))
        #expect("\(named)".contains("width max 800, which contradicts width min 1000; the nearest"))
        let facing = try failure(
            [Devices.front, Devices.back],
            [.facingMode: [.exact(.facingMode(.user)), .exact(.facingMode(.environment))]])
        #expect(facing.contradiction != nil)
        let flash = try failure(
            [Devices.back], [.flashMode: [.exact(.flashMode(.alwaysOn)), .exact(.flashMode(.alwaysOff))]])
        #expect(flash.contradiction != nil && flash.nearest != nil)
        // Two minima do not contradict each other, nor do a rate and the same rate of television.
        #expect(
            try failure([Devices.webcam], [.width: [.min(1_000), .min(8_000)]]).contradiction == nil)
        let rates: DeviceConstraints = [.frameRate: [.exact(30), .exact(29.97), .min(30)]]
        #expect(try ConstraintSolver.selectVideo(from: [Devices.webcam], constraints: rates) != nil)
    }

    @Test("there is no nearest value if no device has the capability")
    func nowhere() throws {
        let light = try failure([Devices.webcam], [.flashMode: [.exact(.flashMode(.alwaysOn))]])
        #expect(light.nearest == nil)
        #expect("\(light)" == "no device satisfies the required constraint flash-mode exact always-on.")
        #expect(
            try failure([Devices.webcam], [.facingMode: [.exact(.facingMode(.user))]]).nearest == nil)
        #expect(
            try failure([Devices.back], [.facingMode: [.exact(.facingMode(.user))]]).nearest
                == "environment")
        let target = DeviceConstraint.exact(.focusTarget(FocusTarget(x: 0.5, y: 0.25)!))
        let focus = try failure([Devices.webcam], [.autoFocusTarget: [target]])
        #expect("\(focus)" == "no device satisfies the required constraint auto-focus-target exact 0.5,0.25.")
    }

    @Test("a device that is named is selected, and any other constraint is relaxed first")
    func device() throws {
        let constraints: DeviceConstraints = [
            .deviceID: [.exact(.text("webcam"))], .flashMode: [.exact(.flashMode(.alwaysOn))],
        ]
        #expect(try failure([Devices.webcam, Devices.back], constraints).capability == .flashMode)
        let gone = try failure([Devices.webcam, Devices.back], [.deviceID: [.exact(.text("gone"))]])
        #expect(
            gone
                == ConstraintFailure(
                    capability: .deviceID, constraint: .exact(.text("gone")), nearest: "webcam"))
    }

    @Test("only numbers can be too small or too large")
    func kinds() throws {
        let odd = DeviceConstraint(.facingMode(.user), kind: .min)
        #expect(try failure([Devices.front], [.facingMode: [odd]]).constraint == odd)
    }
}
