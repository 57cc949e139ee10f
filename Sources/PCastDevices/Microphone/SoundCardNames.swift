import CALSA

/// What a card's driver calls the card and its devices; unlike what sysfs says, only those who may open the card are told.
struct SoundCardNames {
    /// Such as `USB-Audio`, `Loopback`.
    var driver: String
    /// For people.
    var card: String
    /// Of each device that captures, by its number.
    var devices: [Int: String] = [:]

    /// Throws when the card may not be opened.
    init(_ card: SoundCard) throws(PCMFailure) {
        calsa_silence()
        var control: OpaquePointer?
        try PCMFailure.check("open", snd_ctl_open(&control, "hw:\(card.number)", Int32(SND_CTL_NONBLOCK)))
        defer { snd_ctl_close(control) }
        var info: OpaquePointer?
        try PCMFailure.check("card_info", snd_ctl_card_info_malloc(&info))
        defer { snd_ctl_card_info_free(info) }
        try PCMFailure.check("card_info", snd_ctl_card_info(control, info))
        driver = String(cString: snd_ctl_card_info_get_driver(info))
        self.card = String(cString: snd_ctl_card_info_get_name(info))
        for device in card.captureDevices { devices[device] = Self.name(of: device, control) }
    }

    private static func name(of device: Int, _ control: OpaquePointer?) -> String? {
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { return nil }
        defer { snd_pcm_info_free(info) }
        snd_pcm_info_set_device(info, UInt32(device))
        snd_pcm_info_set_stream(info, SND_PCM_STREAM_CAPTURE)
        guard snd_ctl_pcm_info(control, info) >= 0 else { return nil }
        return String(cString: snd_pcm_info_get_name(info))
    }
}

extension SoundCard {
    /// For the choice of the best: hardware before what a driver only makes up, USB, which was plugged in on purpose, before
    /// what is built in.
    var rank: Int {
        if usb != nil { return 0 }
        let driver = (try? SoundCardNames(self))?.driver
        return driver.map { ["Loopback", "Dummy"].contains($0) } ?? false ? 2 : 1
    }
}
