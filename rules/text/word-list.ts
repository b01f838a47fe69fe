// The words of generated names: plain, short, hard to read as anything unkind. Lower-case ASCII, none twice.

const asWords = (text: string): readonly string[] => text.trim().split(/\s+/);

export const firstWords = asWords(`
amber ample apricot aqua arctic ashen autumn azure balmy bamboo basil beige blithe blue bold bonny brass
bright brisk broad bronze buoyant calm candid carbon cedar cherry chestnut chill chilly cinnamon citrus
civic clear clever clover coastal cobalt coral copper cosmic cozy cream crimson crisp crystal cubic curious
cyan dapper daring dawn deep deft denim dewy distant dotted downy dreamy drifting eager early earnest east
easy ebony elder electric elegant ember emerald even evening exact fabled fair famous fancy fern festive
fine first fleet floral flowing fluent fond forest fresh frosty frugal garnet gentle genuine giant gifted
gilded ginger glad glassy gleaming glowing golden good graceful grand granite grateful great green hale
handy happy hardy hazel hearty helpful hidden high hollow homely honest humble icy idle indigo inland ivory
jade jasmine jaunty jazzy jolly jovial joyful jubilant keen khaki kind kindly large lasting laurel lavender
leafy lemon level light lilac lime linen lively local lofty loyal lucid lucky lunar lush magenta magic
mahogany major maple marble marine maroon mauve meadow mellow merry mild mindful mint misty modern modest
mossy mustard navy neat nimble noble north novel oaken ocean olive onyx opal open orange orchid oval pale
paper patient peach peaceful pearl placid plain playful pleasant plum plush polar polished polite prime
proper proud purple quaint quartz quick quiet rapid rare ready regal restful ripe rising robust rosy round
royal ruby russet rustic rusty saffron sage sandy sapphire satin scarlet scenic serene shady sharp shining
shy silent silky silver simple sincere sleek slate smooth snowy snug social soft solar solid sonic south
spare sparkling spicy spruce stable starry steady stellar still stout sturdy subtle summer sunlit sunny
superb swift tall tame tan tangy tawny teal tender thankful tidal tidy timely topaz tranquil trim true
trusty turquoise twilight upbeat upper useful valiant vanilla vast velvet verdant vibrant violet vital
vivid warm wavy west whole wide willing windy winter wise witty wooden woven young zesty
`);

export const secondWords = asWords(`
acorn alder almond anchor antelope apple arbor arch aspen aster atlas aurora avenue badger balcony banjo
barley basin basket bay beacon beaver bell bench birch bison blossom bluff boat bonsai book brook bridge
bucket buffalo butter button cabin cactus camel canal candle canoe canvas canyon caravan cardinal caribou
carrot castle cello chapel cheetah chestnut cliff clock cloud coast cobble comet compass condor copse cottage
cove coyote cradle crane crater creek cricket crocus current cypress daisy dale dahlia deer delta desert
dolphin dome dove dragonfly drum dune eagle easel echo elk elm estuary falcon feather fennel ferry fiddle
field finch fjord flute foal fountain fox gable galaxy garden gazelle geyser glacier glade glen grotto
grove gull hamlet harbor hare harp hawk hazelnut heath heather hedge heron hill hollow horizon hummingbird
ibis igloo inlet iris island ivy jackal jaguar jetty juniper kayak kestrel kettle kite kiwi koala lagoon
lake lamp lantern larch lark lava leaf lemur lighthouse lily linnet lion llama lodge lotus lynx magnet
magnolia magpie mallard mandolin mango manor map marigold market marmot marsh marten mast melody melon mesa
meteor mill mimosa minnow mirror moon moor moose mosaic moth mountain mulberry narwhal nebula nectar nest
nutmeg oak oasis oboe ocelot orbit orchard oriole osprey otter owl paddle pagoda palm panda pansy panther
papaya parrot path pavilion peak pear pebble pelican penguin peony pepper petal pheasant piano pier pine
plateau plaza plover pond poplar poppy prairie prism puffin puma quail quarry quill quilt rabbit rain
rainbow raven reed reef ridge river robin rocket rowan saddle sail salmon sandpiper satchel savanna seal
sequoia shell shore signal skylark sloop sparrow spire spring squirrel star starling stone stork stream
sunrise swallow swan tamarin tapir temple terrace thicket thistle thrush thyme tiger toucan tower trail
trout tulip tundra turtle valley vessel viaduct village vine viola volcano walnut walrus warbler waterfall
wave wheat whale willow windmill wombat woodland wren yacht yarrow yew zebra zephyr zinnia
`);
