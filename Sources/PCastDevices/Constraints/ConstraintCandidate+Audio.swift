extension ConstraintCandidate where Configuration == AudioConfiguration {
    init(device: SourceDevice, order: Int, audio: AudioCapabilities, aims: DeviceConstraintSet) {
        let layoutAim = aims[.audioChannelLayout]
        let layout = EnumConstraint(layoutAim).evaluate(
            [.channelLayout(.stereo), .channelLayout(.mono)], instead: nil, lack: "it is not a channel layout")
        let patterns = PolarPattern.allCases.filter(audio.polarPatterns.contains)
        let pattern = EnumConstraint(aims[.polarPattern]).evaluate(
            [.polarPattern(.automatic)] + patterns.map { .polarPattern($0) },
            instead: patterns.first.map { .polarPattern($0) },
            lack: patterns.isEmpty
                ? "its polar pattern is unknown" : "it is \(patterns.map(\.rawValue).joined(separator: " or "))")
        let echo = EnumConstraint(aims[.audioEchoCancellationMode]).evaluate(
            [.echoCancellation(.automatic), .echoCancellation(.off)]
                + (audio.canCancelEcho ? [.echoCancellation(.on)] : []), instead: nil,
            lack: "it is not a microphone, so it has no echo")
        var configuration = AudioConfiguration()
        if case .channelLayout(let layout) = layout.value { configuration.channels = layout }
        if case .polarPattern(let pattern) = pattern.value { configuration.polarPattern = pattern }
        if case .echoCancellation(let mode) = echo.value { configuration.echoCancellation = mode }
        var rank = FitnessRank()
        let isDoubled = configuration.channels.channels > audio.channels.upperBound
        rank.doubledChannels = layoutAim.isNamed && isDoubled ? 1 : 0
        self.init(
            device: device, order: order, rank: rank,
            settings: device.placed(by: aims) + [layout.fit, pattern.fit, echo.fit], others: [],
            configuration: configuration, text: configuration.channels.rawValue + (isDoubled ? ", of one channel" : ""))
    }
}
