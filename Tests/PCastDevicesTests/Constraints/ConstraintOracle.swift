import PCastCore

@testable import PCastDevices

/// The reference for the solver: it judges every configuration of every device by the words of the specification. It is
/// slow and supports only discrete frame rates.
struct ConstraintOracle {
    /// One way to open one device.
    struct Setting: Hashable {
        var order: Int
        var encoding: CaptureEncoding
        var dimensions: Dimensions
        var frameRate: FrameRate
        var flash: FlashMode
        var focus: AutoFocusMode
        var target: FocusTarget?
        var rotation: VideoSourceRotationMode
    }

    let devices: [SourceDevice]
    var constraints: DeviceConstraints

    /// The constraints on video, each with its capability.
    private var all: [(DeviceCapability, DeviceConstraint)] {
        DeviceCapability.allCases.filter { $0.mediaTypes.contains(.video) }.flatMap { capability in
            (constraints[capability] ?? []).map { (capability, $0) }
        }
    }

    func settings() -> [Setting] {
        devices.enumerated().flatMap { order, device -> [Setting] in
            guard case .video(let can) = device.capabilities else { return [] }
            let known = can.formats.filter { if case .other = $0.encoding { false } else { true } }
            let raw = known.filter { $0.encoding != .h264 }
            var settings: [Setting] = []
            for format in raw.isEmpty ? known : raw {
                guard case .discrete(let rates) = format.rates else { continue }
                for size in Self.sizes(format.sizes) {
                    for rate in rates {
                        for flash in can.flashModes.union([.automatic, .alwaysOff]) {
                            for focus in can.autoFocusModes.union([.automatic]) {
                                for target in targets(can) {
                                    for rotation in VideoSourceRotationMode.allCases
                                    where rotation != .followDeviceRotation || can.canFollowDevice {
                                        settings.append(
                                            Setting(
                                                order: order, encoding: format.encoding, dimensions: size,
                                                frameRate: rate, flash: flash, focus: focus, target: target,
                                                rotation: rotation))
                                    }
                                }
                            }
                        }
                    }
                }
            }
            return settings
        }
    }

    func setting(of selection: VideoSelection) -> Setting? {
        guard let order = devices.firstIndex(of: selection.device) else { return nil }
        let chosen = selection.configuration
        return Setting(
            order: order, encoding: chosen.encoding, dimensions: chosen.dimensions, frameRate: chosen.frameRate,
            flash: chosen.flashMode, focus: chosen.autoFocusMode, target: chosen.focusTarget,
            rotation: chosen.rotationMode)
    }

    func unmetDemands(_ setting: Setting) -> [(DeviceCapability, DeviceConstraint)] {
        all.filter { $0.1.kind != .ideal && !isMet($0.0, $0.1, setting) }
    }

    func distance(_ setting: Setting) -> Double {
        all.filter { $0.1.kind == .ideal }.reduce(0) { $0 + distance($1.0, $1.1, setting) }
    }

    /// Returns the distance of a setting from a required constraint. A named device is relaxed last.
    func missed(_ capability: DeviceCapability, _ demand: DeviceConstraint, _ setting: Setting) -> Double {
        guard case .number(let wanted) = demand.value, let actual = number(capability, setting) else {
            return capability == .deviceID ? 2 : 1
        }
        return abs(actual - wanted) / max(actual, wanted)
    }

    /// Returns all values that rank a setting, in the order of their priority.
    func key(_ setting: Setting) -> [Double] {
        let device = devices[setting.order]
        let kinds: [SourceDeviceInfo.DeviceType] = [.physical, .systemOutput, .uri, .synthetic, .null]
        let named = all.filter { $0.0 == .deviceID && $0.1.kind == .ideal }
        let costs: [CaptureEncoding] = [.computed, .i420, .nv12, .yuyv, .mjpeg, .h264]
        let area = Double(setting.dimensions.width * setting.dimensions.height)
        let key = [
            named.reduce(0) { $0 + distance($1.0, $1.1, setting) },
            Double(kinds.firstIndex(of: device.info.deviceType)!),
            distance(setting), Double(setting.order), defaults(setting),
            Double(costs.firstIndex(of: setting.encoding)!), -area, deviation(setting), -setting.frameRate.perSecond,
        ]
        return key.map { ($0 * 1e6).rounded() }
    }

    /// Returns the relative difference of the frame rate from the requested ones.
    private func deviation(_ setting: Setting) -> Double {
        let rate = setting.frameRate.perSecond
        return (constraints[.frameRate] ?? []).reduce(0) { sum, constraint in
            guard constraint.kind == .exact || constraint.kind == .ideal, case .number(let wanted) = constraint.value
            else { return sum }
            return sum + abs(rate - wanted) / max(rate, wanted)
        }
    }

    /// Returns the distance from 1280x720 at 30 where nothing else is named, in the sensor's orientation.
    private func defaults(_ setting: Setting) -> Double {
        func isNamed(_ capability: DeviceCapability) -> Bool {
            (constraints[capability] ?? []).contains { $0.kind == .ideal || $0.kind == .exact }
        }
        func relative(_ one: Double, _ other: Double) -> Double { abs(one - other) / max(one, other) }
        let (across, down) = (Double(setting.dimensions.width), Double(setting.dimensions.height))
        var sum = 0.0
        switch (isNamed(.width) ? 1 : 0) + (isNamed(.height) ? 1 : 0) {
        case 0: sum += relative(across, 1_280) + relative(down, 720)
        case 1: sum += relative(across / down, 1_280 / 720)
        default: break
        }
        let rate = setting.frameRate.perSecond
        if !isNamed(.frameRate), relative(rate, 30) > 0.01 { sum += relative(rate, 30) }
        return sum
    }

    private func number(_ capability: DeviceCapability, _ setting: Setting) -> Double? {
        guard case .video(let can) = devices[setting.order].capabilities else { return nil }
        let isRotated = can.mountRotation == 1 || can.mountRotation == 3
        switch capability {
        case .width: return Double(isRotated ? setting.dimensions.height : setting.dimensions.width)
        case .height: return Double(isRotated ? setting.dimensions.width : setting.dimensions.height)
        case .frameRate: return setting.frameRate.perSecond
        default: return nil
        }
    }

    private func isMet(_ capability: DeviceCapability, _ constraint: DeviceConstraint, _ setting: Setting) -> Bool {
        guard case .number(let wanted) = constraint.value, let actual = number(capability, setting) else {
            return isSame(constraint.value, setting)
        }
        let slack = capability == .frameRate ? 0.01 : 0
        switch constraint.kind {
        case .min: return actual >= wanted - slack * wanted
        case .max: return actual <= wanted + slack * wanted
        case .exact, .ideal: return abs(actual - wanted) <= slack * max(actual, wanted)
        }
    }

    private func distance(_ capability: DeviceCapability, _ ideal: DeviceConstraint, _ setting: Setting) -> Double {
        if isMet(capability, ideal, setting) { return 0 }
        guard case .number(let wanted) = ideal.value, let actual = number(capability, setting) else { return 1 }
        return abs(actual - wanted) / max(actual, wanted)
    }

    private func isSame(_ value: DeviceConstraint.Value, _ setting: Setting) -> Bool {
        let info = devices[setting.order].info
        return switch value {
        case .facingMode(let mode): mode == .automatic || mode == info.facingMode
        case .location(let location): location == .automatic || location == info.location
        case .text(let id): id == info.id
        case .flashMode(let mode): mode == .automatic || mode == setting.flash
        case .autoFocusMode(let mode): mode == .automatic || mode == setting.focus
        case .rotationMode(let mode): mode == .automatic || mode == setting.rotation
        case .focusTarget(let target): target == setting.target
        default: false
        }
    }

    private func targets(_ can: VideoCapabilities) -> [FocusTarget?] {
        let named = (constraints[.autoFocusTarget] ?? []).compactMap { constraint -> FocusTarget? in
            if case .focusTarget(let target) = constraint.value { target } else { nil }
        }
        return can.hasFocusTarget ? [nil] + named : [nil]
    }

    private static func sizes(_ sizes: CaptureFormat.Sizes) -> [Dimensions] {
        switch sizes {
        case .discrete(let size): return [size]
        case .stepwise(let smallest, let largest, let step):
            return stride(from: smallest.width, through: largest.width, by: step.width).flatMap { width in
                stride(from: smallest.height, through: largest.height, by: step.height).map {
                    Dimensions(width: width, height: $0)
                }
            }
        }
    }
}
