import Glibc
import PCastCore

/// The ALSA microphones of this machine.
package enum Microphones {
    /// Returns every capture device: the default one, then the others in order of preference (USB, built in, virtual).
    /// It does not disturb a program that uses a device. A card that may not be opened is listed with what is publicly
    /// known; opening it reports the group to join.
    package static func enumerate() -> [SourceDevice] {
        let cards = SoundCard.all().map { card in (card: card, rank: card.rank) }.sorted { $0.rank < $1.rank }
            .map(\.card)
        let hardware = cards.flatMap { card in devices(of: card, among: cards) }
        return [standard(cards)].compactMap { $0 } + hardware
    }

    private static func devices(of card: SoundCard, among cards: [SoundCard]) -> [SourceDevice] {
        let names = try? SoundCardNames(card)
        let mixer = CaptureMixer(card: card.number)
        let cardName = names?.card ?? card.id
        return card.captureDevices.map { device in
            let isAlone = card.captureDevices.count == 1
            let name = names?.devices[device].flatMap { isAlone || $0.isEmpty ? nil : "\(cardName), \($0)" }
            let address = MicrophoneAddress(id: nil, card, device)
            return source(
                id: MicrophoneAddress.id(of: card, device: device, among: cards),
                name: name ?? (isAlone ? cardName : "\(cardName), \(device)"), cardName: cardName, card: card,
                limits: CaptureLimits.know(address.pcmName, of: card, device), mixer: mixer)
        }
    }

    private static func standard(_ cards: [SoundCard]) -> SourceDevice? {
        guard let standard = DefaultMicrophone.find() else { return nil }
        let card = cards.first { $0.number == standard.card }
        let cardName = card.map { (try? SoundCardNames($0))?.card ?? $0.id }
        return source(
            id: MicrophoneAddress.standard, name: cardName.map { "Default (\($0))" } ?? "Default",
            cardName: cardName ?? MicrophoneAddress.standard, card: card, limits: standard.limits,
            mixer: card.flatMap { CaptureMixer(card: $0.number) })
    }

    private static func source(
        id: String, name: String, cardName: String, card: SoundCard?, limits: CaptureLimits?, mixer: CaptureMixer?
    ) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(id: id, name: name, mediaType: .audio, deviceType: .physical),
            identity: DeviceIdentity(
                name: cardName, vendor: card?.usb?.vendor, product: card?.usb?.product, serial: card?.usb?.serial),
            // Mono and stereo are always available. More is not known while a device is in use.
            capabilities: .audio(
                AudioCapabilities(
                    sampleRates: limits?.rates ?? [], channels: limits?.channels ?? 1...2,
                    controls: mixer?.controls ?? [], polarPatterns: mixer?.polarPatterns ?? [], canCancelEcho: true)))
    }
}

extension CaptureLimits {
    /// Returns the capabilities of a device without disturbing a program that uses it; nil if they are unknown.
    static func know(_ name: String, of card: SoundCard, _ device: Int) -> CaptureLimits? {
        if let limits = try? CaptureLimits(opening: name) { return limits }
        return text("/proc/asound/card\(card.number)/stream\(device)").flatMap(CaptureLimits.init(usbStream:))
    }

    /// Returns the text of a small file; nil if it does not exist.
    private static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress!, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }
}
