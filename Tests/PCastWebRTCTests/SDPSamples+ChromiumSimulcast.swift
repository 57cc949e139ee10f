/// Descriptions of Chromium 156, or of aiortc 1.16 in answer to it.
extension SDPSamples {
    static let chromiumSimulcastAnswer = """
        v=0
        o=- 4004208713 4004208713 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 53420 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:0
        a=msid:2de426c0-17c9-45b7-938b-615b83b5d09b 743a9ef2-4787-4f7f-a7fe-675172fdc264
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 113879794 749575220
        a=ssrc:113879794 cname:922d7330-54a5-4d25-9b70-c9481c41b2c3
        a=ssrc:749575220 cname:922d7330-54a5-4d25-9b70-c9481c41b2c3
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 goog-remb
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 53420 typ host
        a=end-of-candidates
        a=ice-ufrag:MdPl
        a=ice-pwd:OjGvmuGfU0432Xykv8Dp8t
        a=fingerprint:sha-256 CE:86:FD:DD:5B:75:71:DD:16:8F:1F:D9:52:BA:99:2F:10:52:02:C2:ED:DC:00:A8:D4:A4:77:D\
        D:2B:4F:A6:6F
        a=fingerprint:sha-384 CB:4E:40:15:92:84:7E:C1:C0:F7:56:3C:EB:E6:2A:91:F4:76:F4:76:53:58:EE:27:2F:EA:5A:9\
        A:1E:2B:49:50:02:A5:8C:A4:FD:AE:31:27:7A:E4:AE:A3:23:C3:2C:CD
        a=fingerprint:sha-512 E0:FE:55:7E:33:4D:98:02:7A:1B:BE:4B:9F:C2:7E:F1:7C:24:A9:D1:22:BF:15:DC:A3:8C:D6:7\
        7:DC:EA:D2:9A:23:78:AE:A5:82:0E:A9:4B:65:95:7C:A1:7F:5F:BF:A2:89:F8:B9:A2:45:87:4A:A9:ED:27:D2:76:9D:DE:\
        73:E0
        a=setup:active
        m=audio 53420 UDP/TLS/RTP/SAVPF 111 9 0 8
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:12 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:1
        a=msid:2de426c0-17c9-45b7-938b-615b83b5d09b bce76437-ab53-43c3-8306-b19423e71665
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:2502484903 cname:922d7330-54a5-4d25-9b70-c9481c41b2c3
        a=rtpmap:111 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 53420 typ host
        a=end-of-candidates
        a=ice-ufrag:MdPl
        a=ice-pwd:OjGvmuGfU0432Xykv8Dp8t
        a=fingerprint:sha-256 CE:86:FD:DD:5B:75:71:DD:16:8F:1F:D9:52:BA:99:2F:10:52:02:C2:ED:DC:00:A8:D4:A4:77:D\
        D:2B:4F:A6:6F
        a=fingerprint:sha-384 CB:4E:40:15:92:84:7E:C1:C0:F7:56:3C:EB:E6:2A:91:F4:76:F4:76:53:58:EE:27:2F:EA:5A:9\
        A:1E:2B:49:50:02:A5:8C:A4:FD:AE:31:27:7A:E4:AE:A3:23:C3:2C:CD
        a=fingerprint:sha-512 E0:FE:55:7E:33:4D:98:02:7A:1B:BE:4B:9F:C2:7E:F1:7C:24:A9:D1:22:BF:15:DC:A3:8C:D6:7\
        7:DC:EA:D2:9A:23:78:AE:A5:82:0E:A9:4B:65:95:7C:A1:7F:5F:BF:A2:89:F8:B9:A2:45:87:4A:A9:ED:27:D2:76:9D:DE:\
        73:E0
        a=setup:active
        """

    static let chromiumSimulcastOffer = """
        v=0
        o=- 7092291623841020085 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS 538d08a9-5601-4951-be64-dcb5f0215a1e
        m=video 51063 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 127.0.0.1
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1061097732 1 udp 2122260223 127.0.0.1 51063 typ host generation 0 network-id 1 network-cost \
        50
        a=candidate:3626153875 1 udp 2122194687 127.0.1.1 58762 typ host generation 0 network-id 2
        a=candidate:3247818128 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0 network-id 1 ne\
        twork-cost 50
        a=candidate:646472455 1 tcp 1518214911 127.0.1.1 9 typ host tcptype active generation 0 network-id 2
        a=ice-ufrag:lvZb
        a=ice-pwd:3pyCnSful+oIgdUPceXUEunq
        a=ice-options:trickle
        a=fingerprint:sha-256 1A:EA:D6:44:40:48:1B:D3:F8:57:B0:07:2D:04:36:4B:1B:12:7F:13:1E:69:1A:67:74:3D:EF:E\
        0:D4:13:8F:70
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 urn:3gpp:video-orientation
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=extmap:13 https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension
        a=extmap:14 http://www.webrtc.org/experiments/rtp-hdrext/video-layers-allocation00
        a=sendonly
        a=msid:538d08a9-5601-4951-be64-dcb5f0215a1e 88b25392-3466-4a58-a293-ee5b4fb690f5
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rid:l send
        a=rid:m send
        a=rid:h send
        a=simulcast:send l;m;h
        m=audio 57013 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 127.0.0.1
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1061097732 1 udp 2122260223 127.0.0.1 57013 typ host generation 0 network-id 1 network-cost \
        50
        a=candidate:3626153875 1 udp 2122194687 127.0.1.1 60884 typ host generation 0 network-id 2
        a=candidate:3247818128 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0 network-id 1 ne\
        twork-cost 50
        a=candidate:646472455 1 tcp 1518214911 127.0.1.1 9 typ host tcptype active generation 0 network-id 2
        a=ice-ufrag:lvZb
        a=ice-pwd:3pyCnSful+oIgdUPceXUEunq
        a=ice-options:trickle
        a=fingerprint:sha-256 1A:EA:D6:44:40:48:1B:D3:F8:57:B0:07:2D:04:36:4B:1B:12:7F:13:1E:69:1A:67:74:3D:EF:E\
        0:D4:13:8F:70
        a=setup:actpass
        a=mid:1
        a=extmap:12 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendonly
        a=msid:538d08a9-5601-4951-be64-dcb5f0215a1e 35f02430-2f33-455e-8327-85aa7527c7d4
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        a=ssrc:2291217002 cname:P7+wtEN7vKw4T8OV
        a=ssrc:2291217002 msid:538d08a9-5601-4951-be64-dcb5f0215a1e 35f02430-2f33-455e-8327-85aa7527c7d4
        """
}
