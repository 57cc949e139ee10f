import CPulse
import PCastCore
import PCastIO

/// The microphones of an audio server that ALSA does not have, such as those of Bluetooth headsets and virtual ones.
///
/// The audio server is PulseAudio, or PipeWire with its PulseAudio server.
package enum PulseMicrophones {
    /// Returns the microphones; empty without an audio server. It does not start a server. The address is that of
    /// `PULSE_SERVER`; nil for the one that libpulse finds.
    package static func enumerate(server: String? = nil) -> [SourceDevice] {
        guard let server = try? PulseServer(address: server) else { return [] }
        return PulseMicrophone.all(of: server).map { microphone in
            SourceDevice(
                info: SourceDeviceInfo(
                    id: SystemAudioOutputs.prefix + microphone.name, name: microphone.description, mediaType: .audio,
                    deviceType: .physical),
                identity: DeviceIdentity(name: microphone.description),
                capabilities: .audio(
                    AudioCapabilities(sampleRates: [microphone.sampleRate], channels: 1...2, canCancelEcho: true)))
        }
    }

    /// Returns the server's name of a microphone from its identifier; nil for another identifier.
    static func name(inID id: String) -> String? {
        id.hasPrefix(SystemAudioOutputs.prefix) ? String(id.dropFirst(SystemAudioOutputs.prefix.count)) : nil
    }
}

/// A source of an audio server that is neither the monitor of an output nor a device of ALSA.
struct PulseMicrophone: Hashable {
    let name: String
    /// The name for display.
    let description: String
    let sampleRate: Int

    /// Returns all of a server.
    static func all(of server: PulseServer) -> [PulseMicrophone] {
        let found: [PulseMicrophone]? = server.ask { context, pointer, _ in
            pa_context_get_source_info_list(
                context, { _, info, end, pointer in PulseMicrophone.receive(info, end, pointer) }, pointer)
        }
        return found ?? []
    }

    private static func receive(
        _ info: UnsafePointer<pa_source_info>?, _ end: Int32, _ pointer: UnsafeMutableRawPointer?
    ) {
        let answer = PulseReply<PulseMicrophone>.at(pointer)
        guard end == 0, let info = info?.pointee else { return answer.end() }
        // The monitors of outputs are listed as outputs, and devices of ALSA by their cards.
        let interface = pa_proplist_gets(info.proplist, "device.api").map { String(cString: $0) }
        guard let name = info.name, info.monitor_of_sink == UInt32.max, interface != "alsa" else { return }
        answer.append(
            PulseMicrophone(
                name: String(cString: name), description: String(cString: info.description ?? name),
                sampleRate: Int(info.sample_spec.rate)))
    }
}

/// Reports when outputs or microphones of an audio server appear or disappear, also with the server. The callback lists
/// them.
package final class PulseDeviceMonitor: Sendable {
    /// The time after which a server is searched again.
    private static let retryInterval = TimeSpan.seconds(2)

    /// The interval at which it checks whether it was stopped.
    private static let interval = TimeSpan.milliseconds(250)

    private let isStopped: Monitor<Bool>
    private let thread: WorkerThread

    /// Starts to watch. The address is that of `PULSE_SERVER`; nil for the one that libpulse finds. `changed` is called on
    /// the monitor's own thread, at the start if there is a server, because devices may have changed before it was
    /// watched. Throws `DeviceError.noThread`.
    package init(server: String? = nil, changed: @escaping @Sendable () -> Void) throws(DeviceError) {
        let isStopped = Monitor(false)
        self.isStopped = isStopped
        do {
            thread = try WorkerThread(name: "audio-watch") { Self.run(server, isStopped, changed) }
        } catch {
            throw .noThread("\(error)")
        }
    }

    deinit { stop() }

    /// Stops the monitor and waits until a running callback has returned, except when the callback calls it.
    package func stop() {
        isStopped.withLock { isStopped, condition in
            isStopped = true
            condition.wakeAll()
        }
        thread.join()
    }

    private static func run(_ address: String?, _ isStopped: Monitor<Bool>, _ changed: () -> Void) {
        while true {
            if let server = try? PulseServer(address: address) {
                let events = PulseDeviceEvents(of: server)
                while !isStopped.withLock({ isStopped, _ in isStopped }) {
                    if events.take() { changed() }
                    guard server.iterate(within: interval) else { break }
                }
                // Without the server, its devices are gone.
                if !isStopped.withLock({ isStopped, _ in isStopped }) { changed() }
            }
            let end = isStopped.wait(until: MonotonicClock.now() + retryInterval) { $0 ? true : nil }
            if end == true { return }
        }
    }
}

/// The events of a server about its outputs and microphones. Only one thread may use it at a time.
private final class PulseDeviceEvents {
    private let server: PulseServer
    private var hasChanged = true

    init(of server: PulseServer) {
        self.server = server
        pa_context_set_subscribe_callback(
            server.context,
            { _, _, _, pointer in
                Unmanaged<PulseDeviceEvents>.fromOpaque(pointer!).takeUnretainedValue().hasChanged = true
            }, Unmanaged.passUnretained(self).toOpaque())
        let mask = pa_subscription_mask_t(PA_SUBSCRIPTION_MASK_SINK.rawValue | PA_SUBSCRIPTION_MASK_SOURCE.rawValue)
        if let operation = pa_context_subscribe(server.context, mask, nil, nil) { pa_operation_unref(operation) }
    }

    deinit { pa_context_set_subscribe_callback(server.context, nil, nil) }

    /// Returns whether devices may have changed since the last call.
    func take() -> Bool {
        defer { hasChanged = false }
        return hasChanged
    }
}
