extension ConstraintCandidate where Configuration == VideoConfiguration {
    init(
        device: SourceDevice, order: Int, format: VideoFormatChoice, capabilities: VideoCapabilities,
        aims: DeviceConstraintSet
    ) {
        let flash = EnumConstraint(aims[.flashMode]).evaluate(
            [.flashMode(.automatic)] + Self.ordered(capabilities.flashModes.union([.alwaysOff])).map { .flashMode($0) },
            instead: nil, lack: "it has no flash")
        let modes = capabilities.autoFocusModes
        let focus = EnumConstraint(aims[.autoFocusMode]).evaluate(
            [.autoFocusMode(.automatic)] + Self.ordered(modes).map { .autoFocusMode($0) },
            instead: modes.isEmpty ? nil : .autoFocusMode(.automatic), lack: "it does not support this focus mode")
        let targetAim = aims[.autoFocusTarget]
        let target = EnumConstraint(targetAim).evaluate(
            capabilities.hasFocusTarget ? targetAim.targets : [], instead: nil, lack: "it has no focus target")
        let rotation = EnumConstraint(aims[.videoSourceRotationMode]).evaluate(
            [.rotationMode(.automatic), .rotationMode(.followUIRotation)]
                + (capabilities.canFollowDevice ? [.rotationMode(.followDeviceRotation)] : []),
            instead: .rotationMode(.followUIRotation), lack: "it does not report its orientation")
        var configuration = VideoConfiguration(
            encoding: format.encoding, dimensions: format.dimensions, frameRate: format.frameRate)
        if case .flashMode(let mode) = flash.value { configuration.flashMode = mode }
        if case .autoFocusMode(let mode) = focus.value { configuration.autoFocusMode = mode }
        if case .focusTarget(let target) = target.value { configuration.focusTarget = target }
        if case .rotationMode(let mode) = rotation.value { configuration.rotationMode = mode }
        self.init(
            device: device, order: order, rank: format.rank,
            settings: device.placed(by: aims) + [flash.fit, focus.fit, target.fit, rotation.fit], others: format.fits,
            configuration: configuration, text: "\(format)", textReason: format.reason)
    }

    private static func ordered<Mode: CaseIterable & Hashable>(_ modes: Set<Mode>) -> [Mode] {
        Mode.allCases.filter(modes.contains)
    }
}

extension CapabilityConstraint {
    /// The focus targets of the constraints.
    fileprivate var targets: [DeviceConstraint.Value] {
        (demands + ideals).map(\.value).filter { if case .focusTarget = $0 { true } else { false } }
    }
}
