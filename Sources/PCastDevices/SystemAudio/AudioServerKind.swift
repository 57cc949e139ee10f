import CPulse
import Glibc

/// The server whose outputs, programs and microphones are captured.
enum AudioServerKind: Hashable {
    /// A PulseAudio server, or the one of PipeWire if `PULSE_SERVER` names it.
    case pulseAudio
    /// A PipeWire server.
    case pipeWire

    /// The server of this machine.
    static func current() -> AudioServerKind {
        choose(
            isPulseAudioRequested: getenv("PULSE_SERVER").map { $0.pointee != 0 } ?? false,
            hasPipeWire: { PipeWireServerProbe.mayHaveServer() && PipeWireAudio.hasNodes() },
            pulseAudioName: { (try? PulseServer(address: nil))?.name })
    }

    /// Chooses the server.
    ///
    /// A PulseAudio server that is requested by `PULSE_SERVER`, and one that is no part of PipeWire, is used. Otherwise it is
    /// PipeWire if it has audio: a PipeWire server may be used for screens only.
    ///
    /// - Parameters:
    ///   - isPulseAudioRequested: Whether `PULSE_SERVER` names a server.
    ///   - hasPipeWire: Returns whether there is a PipeWire server with audio.
    ///   - pulseAudioName: Returns the name of the PulseAudio server; nil without one.
    /// - Returns: The server to use.
    static func choose(
        isPulseAudioRequested: Bool, hasPipeWire: () -> Bool, pulseAudioName: () -> String?
    ) -> AudioServerKind {
        if isPulseAudioRequested || !hasPipeWire() { return .pulseAudio }
        guard let name = pulseAudioName() else { return .pipeWire }
        // PipeWire's own one is “PulseAudio (on PipeWire 0.3.65)”.
        return name.lowercased().contains("pipewire") ? .pipeWire : .pulseAudio
    }
}

extension PulseServer {
    /// The name of the server's program; nil if it does not answer.
    fileprivate var name: String? {
        let names: [String]? = ask { context, pointer, _ in
            pa_context_get_server_info(
                context,
                { _, info, pointer in
                    let answer = PulseReply<String>.at(pointer)
                    if let name = info?.pointee.server_name { answer.append(String(cString: name)) }
                    answer.end()
                }, pointer)
        }
        return names?.first
    }
}

/// The audio of this machine other than that of ALSA, as sources.
enum ServerAudio {
    /// Returns the microphones that ALSA does not have, the outputs, and the programs that play; empty without a server.
    static func enumerate() -> [SourceDevice] {
        switch AudioServerKind.current() {
        case .pulseAudio: pulseAudio()
        case .pipeWire: PipeWireAudio.enumerate()
        }
    }

    /// Returns the devices with an identifier. Those of PulseAudio are also found where they are not listed, because PipeWire
    /// is used.
    static func find(_ id: String, in listed: [SourceDevice]) -> [SourceDevice] {
        let found = listed.filter { $0.info.id == id }
        guard found.isEmpty, id.hasPrefix(SystemAudioOutputs.prefix) else { return found }
        return pulseAudio().filter { $0.info.id == id }
    }

    /// Returns the device of a program that plays. Throws `DeviceError.notFound`.
    static func program(_ name: String) throws(DeviceError) -> SourceDevice {
        switch AudioServerKind.current() {
        case .pulseAudio: try ApplicationAudio.find(name)
        case .pipeWire: try PipeWireAudio.find(name)
        }
    }

    /// Connects to the source of a device; nil for a device of ALSA. Throws `DeviceError`.
    static func open(_ device: SourceDeviceInfo, channels: Int) throws(DeviceError) -> (any AudioSource)? {
        if let name = ApplicationAudio.name(inID: device.id) {
            return switch AudioServerKind.current() {
            case .pulseAudio: try ApplicationAudioSource(name: name, channels: channels)
            case .pipeWire: try PipeWireAudioSource(.program(name: name), channels: channels)
            }
        }
        if let name = PipeWireAudio.name(inID: device.id) {
            let output = device.id == PipeWireAudio.standardID ? nil : name
            return try PipeWireAudioSource(
                device.deviceType == .physical ? .microphone(name: name) : .output(name: output), channels: channels)
        }
        guard device.deviceType == .physical else { return try SystemAudioSource(id: device.id, channels: channels) }
        guard let name = PulseMicrophones.name(inID: device.id) else { return nil }
        return try SystemAudioSource(microphone: name, channels: channels)
    }

    private static func pulseAudio() -> [SourceDevice] {
        PulseMicrophones.enumerate() + SystemAudioOutputs.enumerate() + ApplicationAudio.enumerate()
    }
}
